"""The table of profile types of jobs; every type may have ``ret``, the return code of the job.

To add a type, write a module with its `ProfileType` and add a line here.
"""

from typing import Any

from hdeeprm_like.batsim_server.jobs import ProfileType
from hdeeprm_like.batsim_server.profile_types.composed import COMPOSED
from hdeeprm_like.batsim_server.profile_types.computing import HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL
from hdeeprm_like.batsim_server.profile_types.messages import RECV, SEND
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.profile_types.storage import STAGING, TRANSFER
from hdeeprm_like.batsim_server.profile_types.traces import SMPI, USAGE

PROFILE_TYPES: dict[str, ProfileType[Any]] = {
    "delay": DELAY,
    "parallel": PARALLEL,
    "parallel_homogeneous": HOMOGENEOUS,
    "parallel_homogeneous_total": HOMOGENEOUS_TOTAL,
    "parallel_homogeneous_pfs": TRANSFER,
    "data_staging": STAGING,
    "composed": COMPOSED,
    "usage_trace": USAGE,
    "smpi": SMPI,
    "send": SEND,
    "recv": RECV,
}
