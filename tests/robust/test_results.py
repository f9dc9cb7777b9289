"""Results stand beside one another only if they were made of the same; and a launch leaves whole runs alone."""

import json
import threading

import pandas as pd
import pytest
from robust_inputs import machine, refused, told, write_inputs

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import alone_in, replacing
from hdeeprm_like.launch import in_process
from hdeeprm_like.launch.in_process import staged
from hdeeprm_like.launch.run_folder import listed_files


def compared(folder, *more):
    return ("compare", "--trace", folder / "trace.swf", "--policies", "fcfs,sjf+easy", "--windows", "3x10",
            "--output", folder / "out", "--processes", "1", *more)  # fmt: skip


def test_a_changed_type_file_beside_the_platform_makes_another_comparison(tmp_path):
    platform = machine()
    processors = platform["types"].pop("processors")
    folder = write_inputs(tmp_path, **{"machine.json": platform, "processor_types.json": processors})
    arguments = compared(folder, "--platform", folder / "machine.json")
    assert told(*arguments)[0] == 0
    before = pd.read_csv(folder / "out" / "results.csv")
    assert told(*arguments)[0] == 0  # the same goes on
    processors["small"]["power"] = 400.0
    (folder / "processor_types.json").write_text(json.dumps(processors))
    assert "holds a comparison with another platform; name another folder" in refused(*arguments)
    pd.testing.assert_frame_equal(pd.read_csv(folder / "out" / "results.csv"), before)


def test_a_launch_that_was_killed_while_its_files_moved_is_replaced_by_the_next(tmp_path, monkeypatch):
    folder = write_inputs(tmp_path)
    launch = ("launch", "--options", folder / "options.json", "--output", folder / "out")

    def cut(output, stage, earlier):
        moved = in_process.Path.replace
        count = iter(range(3))

        def some(self, target):
            if next(count, None) is None:
                raise KeyboardInterrupt
            return moved(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(in_process.Path, "replace", some)
            whole(output, stage, earlier)

    whole = in_process.move_into
    with monkeypatch.context() as patch:
        patch.setattr(in_process, "move_into", cut)
        assert told(*launch)[0] == 130
    assert json.loads((folder / "out" / "run.json").read_text())["status"] == "incomplete"
    assert len(listed_files(folder / "out")) > 3
    assert told(*launch)[0] == 0
    assert json.loads((folder / "out" / "run.json").read_text())["status"] == "complete"
    assert sorted(path.name for path in (folder / "out").iterdir()) == listed_files(folder / "out")


@pytest.mark.parametrize("name", ["table.csv", "trace.swf.gz"])
def test_a_file_of_half_a_surrogate_pair_is_refused_in_one_line_and_the_old_one_stays(tmp_path, name):
    (tmp_path / name).write_text("old")
    told = rf"{name}: cannot be written: .* half a surrogate pair, which is no text$"
    with pytest.raises(ResultsError, match=told), replacing(tmp_path / name) as file:
        file.write("new\n\ud800\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


def test_a_lock_is_of_one_folder_and_ends_with_its_block(tmp_path):
    with alone_in(tmp_path / "a"), alone_in(tmp_path / "b"), pytest.raises(ResultsError), alone_in(tmp_path / "a"):
        pass
    with alone_in(tmp_path / "a"):
        pass


def test_what_a_killed_launch_has_staged_is_tidied_up(tmp_path):
    (tmp_path / "out" / f"{in_process.STAGE}old").mkdir(parents=True)
    with staged(tmp_path / "out") as stage:
        (stage / "run.json").write_text("{}")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run.json"]


def test_commands_can_be_run_from_any_thread(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(told("metrics", tmp_path / "none")))
    thread.start()
    thread.join()
    assert found[0][0] == 2
