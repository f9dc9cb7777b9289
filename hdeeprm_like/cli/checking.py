"""The command ``check``."""

import argparse

from hdeeprm_like.cli.arguments import Commands, add_trust_flag, command, tell

PARTS = ("policy", "agent", "platform")


def add_check(commands: Commands) -> None:
    """Add ``check``."""
    added = command(
        commands, "check", "try a policy, an agent or a platform against the rules of scheduling", run_check
    )
    added.choice("part", PARTS, "what it is")
    added.add_argument(
        "name",
        help="a policy, as sjf+easy or FILE.py:function; the folder of a training; or a platform's name or file",
    )
    told = "the machine that a policy or an agent is tried on, in place of small ones: a name or a file"
    added.named("--platform", ("platform",), "FILE", told)
    added.option("--slowest", "S", "s that a decision may take (default: any)", kind=float)
    add_trust_flag(added)


def run_check(options: argparse.Namespace) -> None:
    """Check, and print what was tried."""
    from hdeeprm_like.studies.checks.machines import check_platform
    from hdeeprm_like.studies.checks.parts import check_agent, check_policy

    if options.part == "platform":
        found = check_platform(options.name)
    elif options.part == "agent":
        found = check_agent(options.name, platform=options.platform, slowest=options.slowest)
    else:
        found = check_policy(options.name, options.platform, slowest=options.slowest)
    tell(options, str(found))
