"""Settings of all tests; the clusters and workloads that they share are in ``small.py``."""

import logging
import re

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, max_examples=50)
settings.load_profile("project")

# What `make test` leaves to `make test-more`, so that a newcomer need not wait for it; `.ci/run` runs both. Each of
# these has a neighbour in `make test` that tries the same thing in another way.
MORE = {
    r"learning/test_course.*(parts_of_its_episodes|resumed.*kernel)": "learns for 20 s what `test_ppo` learns whole",
    r"learning/test_recurrent.*only_a_memory": "learns for 10 s; what a memory is given and keeps is tried apart",
    r"learning/test_slots.*worth_taking": "learns for 10 s; rows and probabilities have tests of their own",
    r"learning/test_ppo.*simpler_algorithms.*options[12]": "the same doors with another algorithm",
    r"studies/test_evolution.*better_than": "searches for 10 s; that it goes on bit for bit stays",
    r"decision/test_tree_files.*scikit_learn_tells": "grows forests of every size; one tree decides in its own test",
    r"robust/test_fuzz_more": "compiles runs on partitions, for 20 s",
    r"robust/test_trainings.*no_worker_outlives.*\[(2|9)\]": "another signal",
    r"studies/test_sweep.py.*killed_sweep.*\[1\]": "kills and resumes; moment 0 stays",
    r"launch/test_parts.*two_processes": "on two workers, which load everything anew; parts played here stay",
    r"studies/test_sweep.*rows_of_compare": "on two workers, which load everything anew",
    r"test_docs.*site_is_built": "builds the site; `make docs` does so too",
    r"test_golden_slurm": "compiles a baseline on partitions, and plays 22 recorded queues",
    r"envs/test_wrappers": "makes environments in processes of their own; `test_vector` plays the same",
    r"test_golden_windows.*rlscheduler": "the third clock",
    r"importers/test_tutorial.*typed": "launches what was imported; each import has tests of its own",
    r"test_docs.*typed.*first_run": "compiles nothing new; the README's commands stay",
    r"robust/test_refusals.*gigabyte.*\[7 100": "writes a gigabyte of real lines; two other gigabytes stay",
    r"robust/test_code_of_others.*every_command_that_needs": "starts all commands that need an extra",
    r"learning/test_ppo.*simpler_algorithms.*options0": "learns the toy that PPO learns",
    r"slurm/test_commands.*killed.*sets factors": "another moment",
    r"robust/test_fuzz.*\[0\]": "compiles for what it lets through; `test_refusals` stays",
    r"studies/test_compare.*torch_is_imported": "starts two processes; `test_fast_start` tells what each import loads",
    r"studies/test_compare.*other_processes": "starts workers, which load everything; a grid of `test_sweep` does so",
    r"batsim/test_batsim_entry.*(users_know\[True|one_line\[options[1-4])": "starts PyBatsim; one of each stays",
    r"batsim/test_launch_b.*(moment.*\[15-batsim|stopped\[15-0.3|stopped\[1\])": "another signal",
    r"batsim/test_hostile.*\[200-5": "two hundred messages more of the same sort",
    r"studies/test_sweep.py.*of_the_documents": "reproduces on workers; a grid stays",
    r"studies/test_statistics.*ties-13": "asks scipy for four seconds; the smaller ones stay",
    r"studies/test_reproduction.*killed": "kills and resumes; a killed sweep and a killed search stay",
    r"robust/test_trainings.*(stderr_closes\[15|after_its_first)": "kills a comparison and a training once more",
    r"(formats/test_platform_xml.*shipped.*|formats/test_conversion.*goes_to_xml.*)\[(ricc|mc2)": "Gaia stays",
    r"results/test_report.*bars.*\[(2|12)\]": "other numbers of runs",
    r"results/test_plots.*(evalys_warns|-run1[589]\]|three_formats.*(svg|png))": "larger runs, other formats",
    r"results/test_run_page.*\[2000\]": "the same with many jobs",
} | dict.fromkeys(
    (
        r"batsim/test_(launch_batsim.*over_a_socket|batsim5_endpoint.*is_the_same_too)",
        r"batsim/test_batsim_entry.*learning_agent",
        r"decision/test_actions.*waits_whenever",
        r"decision/test_(baselines.*plays_a_baseline|learned_times|own_times|views.*every_view)",
        r"decision/test_baselines.*(committed_pick|used_less|outlive_the_res|compiled_run)",
        r"decision/test_system.*(observing_twice|spreading_the_jobs|episode_holds)",
        r"decision/test_easy_heads.*(later_than_promised|very_moment)",
        r"decision/test_history.*(nothing_of_the_future.*\[(?!sjf)|more_briefly_now|an_estimate_is|of_their_own|last_two)",
        r"decision/test_rates.*(batsim\]|side_by_side|launch_add_up|batched)",
        r"decision/test_(reserve.*(predicted_times|leaves_the_kept)|baselines.*reservation_waits_for_memory)",
        r"decision/test_rewards.*(optimized_by_each|two_objectives)",
        r"decision/test_scored.*(jobs_behind_the_head|reservations|gate_|hidden_unit)",
        r"decision/test_views.*(figure_4_3|\[deeprm\]|machines_show|observer_does\[minimal)",
        r"decision/test_scored.*(well_known_order|come_along)",
        r"decision/test_scored.*looking_ahead_with_one.*\[(?!candidate0-sjf\+easy-textbook)",
        r"decision/test_window.*(leaves_no_job|sums_over|figure_4_1|agrees_with_the_tables|are_kept\[batsim)",
        r"envs/test_gym.*(end_alike|one_by_one|every_preset.PolicySelect|forbids|its_paper|keys|makes_many|models_workloads)",
        r"envs/test_gym.*(ids_of_papers|ones_own|placed|some_time|tells_platform|waiting_|wrong_choice)",
        r"engine/test_(packing.*leaves_least|event_clock.*counting_cores)",
        r"engine/test_power_cap.*(ever_drawn|(draw_more|smaller_machine)\[(?!fcfs\+easy))",
        r"envs/test_env.*(checker|random_legal|three_jobs_on_one_core|not_legal_waits|\[SMDP|picture|after_the_end)",
        r"envs/test_vector.*(without_copies|SMDP-textbook|ask_for_partitions|threads_change|one.*textbook)",
        r"importers/test_import_command.*imported_machine",
        r"launch/test_(network.*(zoo|as_without_it)|whole.*says_it)",
        r"run/test_episodes.*by_its_slowdown",
        r"run/test_streamed.*every_order_and_mode",
        r"run/test_integral.*(\[one_by_one|function|batched)",
        r"studies/test_stream.*first-high_gflops",
        r"studies/test_compare.*(learned_more|one_thing_only|whole_on_one|only_when_its|sees_its_machine|watts_speeds)",
        r"test_api.*(decide_alike|its_users|no_node_can_hold|only_that_action|share_fairly|after_each_event)",
        r"test_api.*shortest_first.*textbook|engine/test_gpus.*no_baseline_books",
        r"test_launch.*rewarded_and_kept",
        r"test_learned.*(short_then|always_takes_a_baseline|published_space|whose_actions_are_baselines)",
        r"test_partitions_everywhere.*(nodes|every_driver|gpus_are|no_node_of)",
    ),
    "compiles one more kind of run, for 3 to 15 s",
)

# What both leave to `make test-all`: each of these compiles another kind of run, which takes some 10 s
# at first, or kills and resumes processes for most of a minute. `make test` and `make test-more` keep one of each sort.
SLOW = {
    r"envs/.*(HDeepRM|DeepRM|CompactRM|DeepBackfilling|Inspector|JobMachine)": "the same with another published space",
    r"envs/test_vector.*\[SMDP-batsim|envs/test_env.*\[batsim-SMDP": "the same on the other clock",
    r"envs/test_baseline_actions": "compiles environments with several baselines",
    r"envs/test_(gym|vector).*(maskable|train)": "trains sb3-contrib's agents",
    r"envs/test_vector.*random_platforms|envs/test_gym.*many_of_every_preset.*SMDP": "more kinds of runs",
    r"envs/test_env.*random_legal.*textbook": "the same on the other clock",
    r"decision/test_baselines.*every_baseline.*\[(?!fcfs\+easy\])": "another mode",
    r"decision/test_baselines.*take_turns|plays_a_baseline.*\[(?!sjf\+easy\]|zoo)": "too",
    r"decision/test_easy_heads.*(compiled_run|any_mode)": "thousands of runs",
    r"run/test_invariants.*every_order_mode": "5,000 worlds with all baselines, which are compiled for it",
    r"decision/test_own_times.*(easysjf|conservative)": "another mode",
    r"decision/test_views.*in_compiled_code.*(normal|small|image|backfilling|machines)": "another observation",
    r"learning/test_training.*kill_9|learning/test_ppo.*(maskable|other_layers)|test_learned.*killed": "minutes",
    r"learning/test_course.*same_weights.*options[02]": "compiles more policies, or is another agent",
    r"learning/test_course.*another_machine": "compiles one more kind of run",
    r"learning/test_sb3_network.*launched": "compiles policies of three kinds together",
    r"test_learned.*kill_9": "kills and resumes two trainings fifty times each",
    r"studies/test_evolution.*kill_9": "starts many processes",
    r"test_learned.*published_space.*(DeepRM|CompactRM|Backfilling|Inspector|JobMachine)": "another published space",
    r"batsim/test_launch_batsim.*any_moment.*(9-batsim|15-endpoint)": "another signal",
    r"batsim/test_launch_batsim.*over_a_socket.*(bfbp|multifactor)": "another mode",
    r"engine/test_compiled.*documents_gives": "compiles everything in numba's own way",
    r"engine/test_packing.*nothing_is_lost": "compiles all modes",
    r"engine/test_partitions.*runs_where": "compiles all modes on partitions",
    r"test_docs.*typed.*docs/(?!tutorials/first_run)": "more pages",
    r"test_docs.*as_a_notebook": "runs the tutorials once more",
    r"batsim_server/test_server_pybatsim.*800": "a long run of PyBatsim",
    r"results/test_run_page.*50000": "the same with many jobs",
    r"test_compile\.py": "compiles ahead",
    r"robust/test_fuzz.*\[(?!0\])": "other changes of the same inputs",
    r"robust/test_interruptions": "kills and resumes processes, some 15 s each",
    r"test_docker.*commands_run": "more commands",
    r"studies/test_sweep.py.*(killed_sweep.*[02-9]\]|workers_are_killed|cancelled)": "the same at another moment",
    r"studies/test_sweep.py.*(seeds_of_a_training|listed)": "compiles what agents and one's own predictors need",
    r"studies/test_sweep_on_(ray|slurm)": "starts a real Slurm, or Ray, whose workers take seconds each to begin",
    r"slurm/test_real_slurm": "starts a real Slurm, whose jobs last some seconds each",
    r"slurm/test_follow.*each_instant.*(sjf|multifactor)": "another order",
}


def pytest_collection_modifyitems(items):
    """Mark what `make test` leaves to others; what is slow is slow only."""
    for item in items:
        for table, mark in ((SLOW, pytest.mark.slow), (MORE, pytest.mark.more)):
            if any(re.search(pattern, item.nodeid) for pattern in table):
                item.add_marker(mark)
                break


@pytest.fixture(autouse=True)
def quiet_as_at_the_beginning():
    """Undo what a command line in a test, or in what several tests share, says about the log."""
    for logger, level in ((logging.getLogger(), logging.WARNING), (logging.getLogger("hdeeprm_like"), logging.NOTSET)):
        logger.setLevel(level)
