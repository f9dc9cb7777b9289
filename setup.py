"""What pyproject.toml cannot say: three folders of the repository are also inside the package.

``agents/``, ``platforms/`` and ``workloads/`` stay at the top of the repository, where a reader looks for them. A wheel
holds them as ``hdeeprm_like/examples/agents`` and so on, so that a user without a clone has them too. All else is in
pyproject.toml.
"""

from setuptools import find_packages, setup

EXAMPLES = {f"hdeeprm_like.examples.{name}": name for name in ("agents", "platforms", "workloads")}

setup(
    packages=[*find_packages(include=["hdeeprm_like", "hdeeprm_like.*"]), *EXAMPLES],
    package_dir=EXAMPLES,
    package_data={
        "hdeeprm_like": [
            "data/*.json",
            "importers/maps/*.toml",
            "results/html/*.js",
            "studies/reproduction/**/*.json",
            "py.typed",
        ],
        **{package: ["*", "zoo/*.json", "zoo/evolution/*.json"] for package in EXAMPLES},
    },
)
