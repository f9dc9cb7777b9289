"""The command ``predict``."""

import argparse
import sys

from hdeeprm_like.cli.arguments import Commands, add_reading_flags, add_trust_flag, command, share
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.open import names


def add_predict(commands: Commands) -> None:
    """Add ``predict``."""
    added = command(commands, "predict", "measure how well the run times of a trace are predicted", run_predict)
    text = f"the trace: a name, e.g. ctc-sp2, or a file: {names('trace')}"
    added.named("trace", ("trace",), "TRACE", text)
    text = "requested, actual, tsafrir, ewma, expected, learned:FILE.json (default requested,tsafrir,ewma,expected)"
    added.option("--predictors", "P,...", text)
    text = "share of the jobs used only for training; the others are predicted"
    added.option("--split", "S", text, kind=share, default=0.5)
    added.path("--train", "FILE.json", "train a predictor on these jobs, and compare it with the others")
    text = "for --train: predict the time within which this share of similar jobs end, in place of the mean logarithm"
    added.option("--quantile", "Q", text, kind=share)
    add_reading_flags(added)
    added.path("--json", "FILE", "also write the figures with all digits")
    add_trust_flag(added)


def run_predict(options: argparse.Namespace) -> None:
    """Train if requested, measure, and print."""
    if options.quantile is not None and options.train is None:
        raise OptionsError("--quantile: needs --train FILE.json")
    from hdeeprm_like.formats.files import write_json
    from hdeeprm_like.studies.prediction.report import USUAL, format_report, predictors_named, read_recording, report

    predictors = predictors_named(options.predictors or ",".join(USUAL))
    if options.train is not None:
        from hdeeprm_like.studies.prediction.training import check_training, train

        check_training(options.train, options.quantile)
    recording = read_recording(options.trace, options.split, options.cores, options.leave_out_larger)
    if options.train is not None:
        predictors = tuple(dict.fromkeys((*predictors, train(recording, options.train, options.quantile))))
    found = report(recording, predictors)
    if options.json:
        write_json(options.json, found.content())
    if not options.quiet:
        sys.stdout.write(format_report(found))
