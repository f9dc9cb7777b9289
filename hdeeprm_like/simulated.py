"""The schedule of a simulation, as Python and notebooks see it."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like import experiment as experiments
from hdeeprm_like.cluster import schedule as schedules
from hdeeprm_like.cluster.html_table import html_table
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats import open as formats
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.studies.compare.figures import ON_A_MACHINE, scale_of, with_tails

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from hdeeprm_like.results.run_log import Record

SHOWN = ("makespan", "bounded_slowdown")  # figures in the text of a schedule


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Schedule(schedules.Schedule):
    """Submission, start and finish of the J jobs that have run, and the figures of the schedule.

    Jobs are in the order of submission, as in the workload. Jobs that do not fit the platform never ran; they are
    left out and listed in `not_run`.

    Attributes:
        job: (J,) ids, as in the workload.
        submit: (J,) s since the simulation began.
        start: (J,) s, the same.
        finish: (J,) s, the same.
        size: (J,) cores that each job held.
        requested_time: (J,) s.
        user: (J,) numbers of the users; None if the workload has none.
        cores: of the platform.
        energy: J from the first submission to the last finish.
        not_run: ids of the jobs that never ran.
        policy: its name.
        clock: of the simulation.
        workload: all jobs.
    """

    job: tuple[str, ...]
    not_run: tuple[str, ...]
    policy: str
    clock: Clock
    workload: Workload
    _play: Callable[[], Simulator]

    @cached_property
    def simulator(self) -> Simulator:
        """The simulation's final state, with the cores of each job and a log, for experts.

        To find the schedule no log is kept, and equal cores are only counted where they can be, which takes half the
        time; what is asked for here is made by playing the jobs again.
        """
        return self._play()

    def __repr__(self) -> str:
        makespan, slowdown = (self.figures[name] for name in SHOWN)
        jobs = f"{len(self)} job{'s' * (len(self) != 1)}"
        if self.not_run:
            jobs += f" ({len(self.not_run)} more never ran)"
        return (
            f"Schedule of {jobs} by {self.policy} on {self.cores} cores: makespan {makespan:.6g} s, "
            f"mean bounded slowdown {slowdown:.4g}"
        )

    @cached_property
    def figures(self) -> dict[str, float]:
        """The figures of the command ``compare``, by name; NaN for unknown ones.

        Titles and units are in `hdeeprm_like.cluster.schedule.FIGURES`; ``utilization`` for instance is a share of 1.
        """
        return schedules.figures(self)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with one row for each job that has run.

        The columns are job, submit, start, finish, wait, run_time, requested_time (all s), size (cores),
        bounded_slowdown (at least 1) and, if the workload has users, user.
        """
        import pandas as pd

        times = {name: getattr(self, name) for name in ("submit", "start", "finish", "wait", "run_time")}
        columns: dict[str, Any] = {"job": list(self.job), **times, "requested_time": self.requested_time}
        columns |= {"size": self.size, "bounded_slowdown": self.bounded_slowdown}
        return pd.DataFrame(columns if self.user is None else columns | {"user": self.user})

    def _repr_html_(self) -> str:
        shown = ["makespan", *with_tails(ON_A_MACHINE)]
        scales = {name: scale_of(name, self.figures[name]) for name in shown}
        rows = [
            (schedules.FIGURES[name].title, f"{self.figures[name] / scale:,.{digits}f}{unit}")
            for name, (scale, unit, digits) in scales.items()
        ]
        return html_table(repr(self), (), rows)

    def gantt(self, save: str | Path | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw a Gantt chart, the cores and times of each job, and return its axes; no window opens.

        Args:
            save: a .png, .svg or .pdf to write.
            ax: matplotlib's axes to draw on; without these and a file a new figure of pyplot, which a notebook shows.

        Raises:
            OptionsError: the suffix of *save* is not known, or both are given.
            ResultsError: the file cannot be written.
        """
        if save is not None and ax is not None:
            raise OptionsError("gantt: takes save or ax; the figure of your own axes is saved by its savefig")
        from hdeeprm_like.results import plots

        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / self.policy.replace("/", "_")  # the name is drawn as a part of the title
            self.save(folder)
            return plots.gantt_on(folder, ax) if save is None else plots.draw("gantt", folder, Path(save)).axes[0]

    def save(self, folder: str | Path) -> Path:
        """Write the schedule in Batsim's formats, for the commands ``visual`` and ``metrics``; return the folder.

        On the clock ``"batsim"`` these are the output files of ``launch``: Batsim's five, and
        ``overutilizations.json``. The other clocks have no P-states, so only ``out_jobs.csv``, without the energy of
        each job, and ``out_schedule.csv`` are written. ``workload.json`` and ``platform.xml`` are always written,
        ``options.json`` and ``run.json`` never. Existing files of these names are replaced, one after the other.

        Raises:
            ResultsError: the folder cannot be written.
        """
        from hdeeprm_like.results.run_log import Record

        folder = Path(folder)
        record = Record(self.simulator, self.workload)
        if self.clock == "batsim":
            record.write(folder, record.schedule(scheduling_time=0.0, simulation_time=0.0))
        else:
            self._write_jobs(record, folder)
        formats.write(self.workload, folder / experiments.WORKLOAD_OF_RUN, "workload")
        formats.write(self.simulator.state.platform, folder / experiments.PLATFORM_OF_RUN, "platform")
        return folder

    def _write_jobs(self, record: "Record", folder: Path) -> None:
        """Write the two files that need no P-states."""
        from hdeeprm_like.results.batsim_files import summary_of_ended, write_schedule

        record.write_jobs(folder / "out_jobs.csv", energy=False)
        summary = summary_of_ended(
            record.ended,
            machines=self.cores,
            consumed_joules=self.energy,
            machine_seconds=record.machine_seconds(),
            switches=(0, 0),
            wall_clock=(0.0, 0.0),
        )
        write_schedule(folder / "out_schedule.csv", summary)
