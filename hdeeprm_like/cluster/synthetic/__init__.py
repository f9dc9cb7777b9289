"""Jobs from published workload models, and models of users' run-time estimates.

=========  ================================================================  ==================
model      presets, default first                                        published by
=========  ================================================================  ==================
`lublin`   batch, interactive, whole, both                                   Lublin, Feitelson
`mao`      dissertation, deeprm, scenario-1 to scenario-10, short, long      Mao et al.; Cunha
`ksu`      high-utilization                                                  Hutchison et al.
=========  ================================================================  ==================

A model is a frozen dataclass of its parameters; it draws `Jobs` with a given generator. `Jobs` become a
`Workload` once the speed of a core is known. Estimates are functions of run times: `Exact`, `Gaussian`, `Tsafrir`,
`Accuracy`; they apply to the jobs of a model and to any workload.
"""
