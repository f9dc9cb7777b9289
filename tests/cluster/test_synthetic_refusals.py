"""Parameters of models that make no sense are refused in one line with the name of the model and of the parameter."""

import pytest

from hdeeprm_like.cluster.synthetic.campaigns import Campaigns
from hdeeprm_like.cluster.synthetic.estimates import Gaussian
from hdeeprm_like.cluster.synthetic.ksu import Ksu
from hdeeprm_like.cluster.synthetic.lublin import Lublin
from hdeeprm_like.cluster.synthetic.mao import Mao
from hdeeprm_like.cluster.synthetic.tsafrir import Tsafrir
from hdeeprm_like.errors import WorkloadError


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        (Campaigns, {"short_rate": 0.0}, "campaigns: short_rate: is 0.0; a number above 0"),
        (Campaigns, {"campaign_size": (8, 400)}, "campaigns: campaign_size: (8, 400); 1 to 320 cores are possible"),
        (Campaigns, {"requested": (0.5, 2.0)}, "campaigns: requested: 0.5 to 2.0 is no range within 1 to"),
        (Campaigns, {"shortest": 50.0, "longest": 20.0}, "campaigns: shortest, longest: 50.0 to 20.0 is no range"),
        (Lublin, {"serial": 1.5}, "lublin: serial: is 1.5; a probability from 0 to 1 is needed"),
        (Lublin, {"nodes": 0}, "lublin: nodes: is 0; a whole number from 1 to"),
        (Lublin, {"size_low": 6.0}, "lublin: sizes: 6.0, 5.0, 7.0 are no stages"),
        (Lublin, {"run_scale_1": 0.0}, "lublin: run_scale_1: is 0.0; a number above 0"),
        (Lublin, {"gap_ratio": -1.0}, "lublin: gap_ratio: is -1.0; a number above 0"),
        (Lublin, {"run_most": 1.0}, "lublin: nearly all times are above run_most or gap_most"),
        (Lublin, {"gap_shape": float("nan")}, "lublin: gap_shape: is nan; a number above 0"),
        (Mao, {"arrival": 1.1}, "mao: arrival: is 1.1; a probability above 0"),
        (Mao, {"arrival": 0.0}, "mao: arrival: is 0.0; a probability above 0"),
        (Mao, {"steps": 0}, "mao: steps: is 0; a whole number from 1 to 1,000,000 is needed"),
        (Mao, {"short_length": (3, 1)}, "mao: short_length: 3 to 1 is no range within 1 to 1e+06"),
        (Ksu, {"above": 256}, "ksu: above: is 256; a machine of 256 cores has no larger jobs"),
        (Gaussian, {"nu": -1.0}, "gaussian: nu: is -1.0; a number from 0"),
        (Gaussian, {"side": "up"}, "gaussian: side: is 'up'; known: over, under, both"),
        (Tsafrir, {"maximum": float("inf")}, "tsafrir: maximum: is inf; a number above 0"),
        (Tsafrir, {"popular": (60.0, 0.0)}, "tsafrir: popular[1]: is 0.0; a number above 0"),
    ],
)
def test_parameters_without_sense_are_refused(model, parameters, message):
    with pytest.raises(WorkloadError) as error:
        model(**parameters)
    assert str(error.value).startswith(message)
