"""Power over time, and what energy costs or emits by a tariff."""

import csv

import numpy as np
import pytest
from robust_inputs import printed, refused
from small import jobs, platform, run

from hdeeprm_like.decision.rates import read_rates
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.results.power import at_rates, consumed
from hdeeprm_like.results.run_reader import open_run

WATTS = 100.0  # of a core that serves a job; one whose processor sleeps takes 5 % of it


@pytest.fixture
def folder(tmp_path):
    """A run of two jobs on one core: idle to 10 s, busy to 30 s, idle to 40 s, busy to 50 s."""
    finished = run(platform(), jobs(submit=[10.0, 40.0], seconds=[20.0, 10.0]))
    finished.record.write(tmp_path, finished.record.schedule(0.0, 0.0))
    return tmp_path


def rates(folder, text):
    path = folder / "rates.csv"
    path.write_text(text)
    return path


def test_the_power_is_that_of_the_p_states_of_each_time(folder):
    used = consumed(open_run(folder))
    at = np.searchsorted(used.times, [5.0, 20.0, 35.0, 45.0, 55.0], side="right") - 1
    assert used.watts[at].tolist() == pytest.approx([5.0, WATTS, 5.0, WATTS, 5.0])


def test_each_part_of_the_energy_has_the_price_of_its_time_also_before_the_first_record(folder):
    lines = (folder / "out_consumed_energy.csv").read_text().splitlines()
    late = [line for line in lines[1:] if float(line.split(",")[0]) >= 10.0]
    (folder / "out_consumed_energy.csv").write_text("\n".join([lines[0], *late]) + "\n")
    used = consumed(open_run(folder))
    assert (used.times[0], used.joules[0]) == (0.0, 0.0)
    assert used.watts[0] == pytest.approx(5.0)
    found = at_rates(open_run(folder), read_rates(rates(folder, "time,value\n0,7200\n20,3600\n45,0\n")))
    assert found == pytest.approx((2 * 10 * WATTS + (10 * WATTS + 10 * 5.0 + 5 * WATTS)) * 1e-3, rel=1e-6)


def test_a_price_that_never_changes_is_that_of_the_energy_that_batsim_reports(folder):
    with (folder / "out_schedule.csv").open() as file:
        joules = float(next(csv.DictReader(file))["consumed_joules"])
    assert joules == pytest.approx(20 * WATTS + 10 * 5.0 + 10 * WATTS)
    found = at_rates(open_run(folder), read_rates(rates(folder, "time,value\n0,3.6\n")))
    assert found == pytest.approx(joules * 1e-6)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("time,value\n5,1\n", "rates.csv:2: time: is 5; the first line must be of time 0"),
        ("time,value\n0,1\n9,1\n4,1\n", "rates.csv:4: time: is 4 and not after 9"),
        ("time,value\n0,cheap\n", "rates.csv:2: value: is 'cheap'"),
        ("time,price\n0,1\n", "column 'value' is missing"),
    ],
)
def test_a_tariff_that_makes_no_sense_is_refused(folder, text, told):
    with pytest.raises(OptionsError, match=told):
        read_rates(rates(folder, text))


def test_the_command_prints_cost_and_co2_and_draws_the_power_where_there_is_energy(folder):
    path, table = rates(folder, "time,value\n0,3600\n"), folder / "table.csv"
    told = printed("metrics", folder, "--short", "--tariff", path, "--carbon", path, "--csv", table)
    assert "cost of the energy" in told
    assert "CO2 (kg)" in told
    assert "cost of the energy,3.05" in table.read_text()
    printed("visual", "power", "--run", folder, "--save", folder / "power.png")
    assert (folder / "power.png").stat().st_size > 0
    (folder / "out_consumed_energy.csv").unlink()
    assert "has no out_consumed_energy.csv" in refused("metrics", folder, "--tariff", path)
