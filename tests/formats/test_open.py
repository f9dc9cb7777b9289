"""The one table of input formats: what endings mean, what wrong ones say, and that a format is added in one place."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from small import jobs, platform

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import HDeepRMError, OptionsError, PlatformError, WorkloadError
from hdeeprm_like.formats import open as opening
from hdeeprm_like.formats.open import FORMATS, Format, endings, load_platform, load_trace, load_workload, names, write
from hdeeprm_like.plugins import function_at

ROOT = Path(__file__).parents[2]


def test_every_reader_and_writer_of_the_table_exists():
    places = [place for form in FORMATS for place in (form.read, form.write, form.write_jobs) if place]
    assert len(places) == 11
    assert all(callable(function_at(place)) for place in places)


def test_no_ending_means_two_formats_of_one_kind():
    for holds in ("platform", "workload", "trace"):
        assert len(set(endings(holds))) == len(endings(holds)) > 0


def test_a_packed_file_holds_the_same(tmp_path):
    workload = jobs(seconds=[3.0, 4.0], size=[1, 2])
    write(workload, tmp_path / "w.json", "workload")
    write(workload, tmp_path / "w.json.gz", "workload")
    assert gzip.decompress((tmp_path / "w.json.gz").read_bytes()) == (tmp_path / "w.json").read_bytes()
    plain, packed = (load_workload(tmp_path / name, reference_flops=1e9) for name in ("w.json", "w.json.gz"))
    assert plain.ids == packed.ids
    assert np.array_equal(plain.ops, packed.ops)


@pytest.mark.parametrize(
    ("load", "error", "message"),
    [
        (load_platform, PlatformError, "it was read as JSON because its name ends in none of .json, .json.gz, .xml, "),
        (load_trace, WorkloadError, "it was read as SWF because its name ends in none of .swf, .swf.gz"),
        (
            lambda path: load_workload(path, reference_flops=1e9),
            WorkloadError,
            "it was read as Batsim's JSON because its name ends in none of .json, .json.gz, .csv, .csv.gz",
        ),
    ],
)
def test_the_error_for_an_unreadable_file_of_unknown_ending_lists_the_known_ones(tmp_path, load, error, message):
    path = tmp_path / "input.txt"
    path.write_text("what is this\n")
    with pytest.raises(error) as raised:
        load(path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_of_an_unknown_ending_that_can_be_read_is_read_and_a_missing_one_is_only_missing(tmp_path):
    with pytest.raises(HDeepRMError, match=r"trace\.txt: no such file$"):
        load_trace(tmp_path / "trace.txt")
    (tmp_path / "trace.txt").write_text("1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n")
    assert len(load_trace(tmp_path / "trace.txt")) == 1


@pytest.mark.parametrize(("name", "kind"), [("p.xml", "XML"), ("p.csv", "KSU's CSV of machines")])
def test_types_are_refused_where_a_format_names_none(tmp_path, name, kind):
    with pytest.raises(PlatformError, match=f"{kind} holds all figures itself; types extend a platform in JSON"):
        load_platform(tmp_path / name, [tmp_path])


def test_what_cannot_be_written_is_refused_with_what_can(tmp_path):
    said = r"p\.csv: a name that ends in \.json, \.json\.gz, \.xml or \.xml\.gz is needed"
    with pytest.raises(OptionsError, match=said):
        write(platform(), tmp_path / "p.csv", "platform")


TOY = '''
"""Jobs in a format of its own: one line of seconds and cores for each."""
import numpy as np
from hdeeprm_like.cluster.synthetic.jobs import plain_jobs


def read_toy(path, *, reference_flops, capacity):
    seconds, size = np.loadtxt(path, ndmin=2).T
    jobs = plain_jobs(submit=np.zeros(len(size)), size=size.astype(int), run=seconds, capacity=4, origin="toy")
    return jobs.workload(reference_flops)


def write_toy(jobs, path):
    np.savetxt(path, np.column_stack([jobs.run, jobs.size]))
'''


@pytest.fixture
def toy_format(tmp_path, monkeypatch):
    """A format that is added as DESIGN says: a module with its reader, and one entry in the table."""
    (tmp_path / "toy_jobs.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    toy = Format("toy jobs", "workload", (".toy",), "toy_jobs:read_toy", write_jobs="toy_jobs:write_toy")
    monkeypatch.setattr(opening, "FORMATS", (*FORMATS, toy))


def launched(folder, workload):
    options = json.loads((ROOT / "agents" / "gaia-first-high_gflops.json").read_text())
    options |= {
        "platform_file_path": str(ROOT / "platforms" / "learning.json"),
        "workload_file_path": workload,
        "nb_resources": None,
        "nb_jobs": None,
    }
    (folder / "experiment.json").write_text(json.dumps(options))
    return main(["launch", "-q", "--options", str(folder / "experiment.json"), "--output", str(folder / "run")])


def test_an_added_format_is_launched_and_without_it_the_same_launch_is_refused(tmp_path, request, capsys):
    (tmp_path / "three.toy").write_text("10 1\n20 2\n5 1\n")
    assert launched(tmp_path, "three.toy") == 2
    assert "it was read as SWF because its name ends in none of .swf, .swf.gz" in capsys.readouterr().err
    request.getfixturevalue("toy_format")
    assert launched(tmp_path, "three.toy") == 0
    assert len(json.loads((tmp_path / "run" / "workload.json").read_text())["jobs"]) == 3


@pytest.mark.usefixtures("toy_format")
def test_an_added_format_is_written_by_generate_and_listed_in_help_and_messages(tmp_path, capsys):
    path = tmp_path / "made.toy"
    assert main(["generate", "lublin", "--jobs", "7", "--seed", "1", "-q", "-o", str(path)]) == 0
    assert len(load_workload(path, reference_flops=1e9)) == 7
    assert main(["generate", "lublin", "--jobs", "7", "--seed", "1", "-o", "x.txt"]) == 2
    assert ".csv.gz or .toy is needed" in capsys.readouterr().err
    assert names("workload").endswith(" or toy jobs")
    with pytest.raises(SystemExit):
        main(["launch", "--help"])
    assert "toy jobs" in " ".join(capsys.readouterr().out.split())  # wherever the line ends
