"""A scheduler for PyBatsim 4 that makes each of its decisions once; `test_server5_pybatsim.py` runs it."""

from pathlib import Path

from procset import ProcSet
from pybatsim.batsim import (
    CallMeLaterEvent,
    ChangeHostsPStateEvent,
    EDCHelloEvent,
    ExecuteJobEvent,
    FinishRegistrationEvent,
    Job,
    KillJobsEvent,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    Scheduler,
    SimulationFeatures,
    StopCallMeLaterEvent,
)
from pybatsim.batsim.job import DelayProfile


class EachDecisionOnce(Scheduler):
    """It rejects one job, kills one after 3 s, runs one, registers one, and writes what it hears."""

    def __init__(self, batsim, options):
        super().__init__(batsim, options)
        batsim.simulation_metadata.requested_features |= (
            SimulationFeatures.DYNAMIC_REGISTRATION
            | SimulationFeatures.ACKNOWLEDGE_DYNAMIC_JOBS
            | SimulationFeatures.FORWARD_PROFILES_ON_JOB_SUBMISSION
            | SimulationFeatures.FORWARD_PROFILES_ON_JOBS_KILLED
        )
        self.heard = []
        self.notes = Path(options["notes"])
        self.jobs = []
        self.say(EDCHelloEvent, batsim.simulation_metadata, "each once", "1", "")

    def say(self, kind, *content):
        self.batsim.append_event(kind(self.batsim.time, *content))

    def handle_msg(self, msg):
        msg = list(msg)
        self.heard += [f"{round(event.timestamp, 3)} {type(event).__name__}" for event in msg]
        super().handle_msg(msg)

    def handle_simulation_begins(self, event):
        self.say(ChangeHostsPStateEvent, ProcSet((2, 3)), 1)
        periodic = {"period": 1, "offset": 0, "time_unit": "Second", "mode_type": "Infinite", "mode": {}}
        kinds = CallMeLaterEvent.TemporalTriggerType
        self.say(CallMeLaterEvent, "every", kinds.Periodic, periodic)
        self.say(CallMeLaterEvent, "once", kinds.OneShot, {"time": 3000, "time_unit": "Millisecond"})

    def handle_submitted_job(self, event):
        self.jobs.append(event.job)
        if len(self.jobs) == 1:
            self.say(RejectJobEvent, event.job)
        else:
            event.job.allocation = ProcSet(len(self.jobs) - 2)
            self.say(ExecuteJobEvent, event.job)

    def handle_requested_call(self, event):
        if event.call_id == "every":
            self.say(StopCallMeLaterEvent, "every")
            return
        self.say(KillJobsEvent, [self.jobs[1]])
        self.say(RegisterProfileEvent, DelayProfile("mine!two", 2.0))
        self.say(RegisterJobEvent, Job("mine!1", 1, "mine!two", walltime=9.0))
        self.say(FinishRegistrationEvent)

    def handle_completed_job(self, event):
        pass

    def handle_simulation_ends(self, event):
        self.notes.write_text("\n".join(self.heard))
