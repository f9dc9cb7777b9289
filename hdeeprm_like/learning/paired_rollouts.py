"""Paired rollouts: what one decision is worth, from two copies of a simulation in which all else is the same.

An episode is played by the agent as it is. At some of its decisions the simulation is forked: one branch takes another
action at each decision for the period *lasts*, the other what the policy takes, and both go on by the policy with the
same jobs to come, which run for the same times. What one branch gains more than the other until the same time is the
advantage of its action. The return of a whole episode has a standard deviation hundreds of times as large as that
difference. The policy that the branches follow is the one to be improved; the agent that plays the episodes may be what
was learned of it so far, so that advantages are also known in the states that only the agent comes to (Ross and
Bagnell, "Reinforcement and imitation learning via interactive no-regret learning", 2014).

Actions are policies. Comparing the start of a job with holding it was tried for months and brought nothing: held jobs
let others start, so that advantages of single jobs do not add up (`docs/agents.md`).

The run times of the jobs are those of the training trace, or of the model: in both branches the same, whatever users
request. The agent sees requests alone.

Both branches end at the same time, *horizon* s after the decision, or with the episode. Jobs that wait then are charged
for the time in which the machine would work off what they request, as if none of them ran before its end; where the
objective is discounted or sampled at decisions there is no such charge.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.decision.rewards import CHANGE, END, INTEGRAL, weighted_value
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import LearningAgent, PolicyLearningAgent
from hdeeprm_like.learning.recurrent import RecurrentPolicyAgent
from hdeeprm_like.learning.weights import Weights, following
from hdeeprm_like.option_sections import PolicyIterationSection
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.run.loop import Run
from hdeeprm_like.types import Bools, Floats, Ints

NONE = -1  # instead of an action


@dataclass(frozen=True, eq=False)
class Pairs:
    """Actions compared at some decisions; S decisions, P pairs.

    Attributes:
        observations: (S, F) float32. masks: (S, A). episodes: (S,) in which episode each decision was.
        states: (P,) which decision. actions, others: (P,) what was compared.
        gains: (P,) how much more of the objective followed from *actions* than from *others*.
        decisions: how many the policy took, in all branches. reward: mean of the episodes.
    """

    observations: Floats
    masks: Bools
    episodes: Ints
    states: Ints
    actions: Ints
    others: Ints
    gains: Floats
    decisions: int
    reward: float


@dataclass
class _Asked:
    """What is being compared: a list with an entry for each decision or pair."""

    observations: list[Floats] = field(default_factory=list)
    masks: list[Bools] = field(default_factory=list)
    episodes: list[int] = field(default_factory=list)
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)


class PairedRollouts:
    """Compares actions in the episodes of a policy; see the module."""

    def __init__(
        self, agent: LearningAgent, plays: Plays, layout: Layout, how: PolicyIterationSection, seed: int = 0
    ) -> None:
        """Make room for episodes and branches.

        Args:
            how: decisions are compared. seed: of what is drawn.

        Raises:
            AgentError: the agent has no probabilities of actions, or remembers what it saw; or actions start jobs.
            OptionsError: a part of the space is the user's own Python, which cannot be forked.
        """
        if not isinstance(agent, PolicyLearningAgent) or isinstance(agent, RecurrentPolicyAgent):
            raise AgentError(
                f"{type(agent).__name__}: policy iteration compares single decisions; it needs an agent with "
                "probabilities of actions (PolicyLearningAgent) and without a memory"
            )
        if layout.slots:
            raise AgentError("policy iteration: compares policies; actions that start jobs have nothing to compare")
        self.agent, self.plays, self.how, self.seed = agent, plays, how, seed
        self.runs = plays.runs_to_fork(how.windows)
        self.branches = plays.runs_to_fork(how.branches)
        self._forced, self._until = np.full(how.branches, NONE), np.zeros(how.branches)  # actions, and s until when
        self._open: list[tuple[int, int]] = []  # the branches of pairs that have no gain yet
        self._used = 0
        self._decisions = 0
        self._policy: Weights | None = None

    def __call__(self, first: int, policy: Weights | None = None) -> Pairs:
        """Play consecutive episodes, compare actions at some of their decisions and return what was found.

        Args:
            first: number of the first episode; all that is drawn follows from it.
            policy: weights that the branches follow; None for the agent's own.

        Raises:
            AgentError: there is no decision with two actions to compare.
        """
        how, runs = self.how, self.runs
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(first,)))
        self.plays.load(runs, first)
        self.branches.room_like(runs)
        self._used, self._decisions, self._open, self._policy = 0, 0, [], policy
        asked, chosen = _Asked(), np.zeros(how.windows, np.int64)
        left = rng.integers(1, 2 * how.every + 1, how.windows)
        with deterministic(self.agent):
            while not runs.over.all():
                active = np.flatnonzero(~runs.over)
                chosen[active] = self.agent.decide(runs.observations[active], runs.masks[active], active)
                left[active] -= 1
                due = active[left[active] <= 0]
                if len(due):
                    compared = due[self._ask(asked, due, chosen, first, rng)]
                    left[compared] = rng.integers(1, 2 * how.every + 1, len(compared))
                runs.step(chosen)
                self._decisions += len(active)
            self._answer(asked)
        return self._found(asked)

    def _found(self, asked: _Asked) -> Pairs:
        if not asked.pairs:
            raise AgentError("policy iteration: no decision of these episodes has two actions to compare")
        states, actions, others = (np.array(part, np.int64) for part in zip(*asked.pairs, strict=True))
        return Pairs(
            observations=np.stack(asked.observations).reshape(len(asked.observations), -1),
            masks=np.stack(asked.masks),
            episodes=np.array(asked.episodes),
            states=states,
            actions=actions,
            others=others,
            gains=np.array(asked.gains),
            decisions=self._decisions,
            reward=float(self.runs.episodes["reward"].mean()),
        )

    def _ask(self, asked: _Asked, due: Ints, chosen: Ints, first: int, rng: np.random.Generator) -> Bools:
        """Fork the simulations of some places; return (D,) in which there was something to compare."""
        runs, found = self.runs, np.zeros(len(due), np.bool_)
        with following(self.agent, self._policy), torch.no_grad(), self.agent.locating_errors():
            if self._policy is not None:  # what is compared with is what the policy does
                chosen = chosen.copy()
                chosen[due] = self.agent.decide(runs.observations[due], runs.masks[due], due)
            seen = torch.from_numpy(runs.observations[due]).float().flatten(1).to(self.agent.device)
            legal = torch.from_numpy(runs.masks[due]).to(self.agent.device)
            liked = self.agent.log_probabilities(seen, legal).cpu().numpy().astype(np.float64)
        liked += rng.gumbel(size=liked.shape)  # the greatest of these sums are drawn by the probabilities
        for i, place in enumerate(due.tolist()):
            tried = self._alternatives(runs.masks[place], int(chosen[place]), liked[i])
            if not len(tried):
                continue
            found[i] = True
            if self._used + 2 * len(tried) > self.how.branches:
                self._answer(asked)
            state = len(asked.observations)
            asked.observations.append(runs.observations[place].copy())
            asked.masks.append(runs.masks[place].copy())
            asked.episodes.append(first + place)
            self._fork(asked, state, place, int(chosen[place]), tried.tolist())
        return found

    def _alternatives(self, mask: Bools, chosen: int, liked: Floats) -> Ints:
        """Return the actions that are tried in place of the policy's."""
        legal = np.flatnonzero(mask)
        legal = legal[legal != chosen]
        most = min(self.how.alternatives or len(mask), self.how.branches // 2)
        best: Ints = legal[np.argsort(-liked[legal], kind="stable")[:most]]
        return best

    def _fork(self, asked: _Asked, state: int, place: int, chosen: int, tried: list[int]) -> None:
        """Make the branches of a decision."""
        base = self._branch(place, NONE)
        for action in tried:
            asked.pairs.append((state, action, chosen))
            self._open.append((self._branch(place, action), base))

    def _branch(self, place: int, forced: int) -> int:
        """Fork the simulation of a place; return the number of the branch."""
        branch, self._used, now = self._used, self._used + 1, self.runs.now[place]
        self.branches.fork(np.array([place]), np.array([branch]), self.runs)
        self._forced[branch], self._until[branch] = forced, now + self.how.lasts
        if self.how.horizon > 0.0:
            params = self.branches.run(branch).core.window.params
            params["until"] = np.minimum(params["until"], now + self.how.horizon)
        return branch

    def _answer(self, asked: _Asked) -> None:
        """Play all branches to their ends and write down what they gained."""
        branches, used = self.branches, self._used
        before = branches.episodes["reward"][:used].copy()
        with following(self.agent, self._policy):
            self._play(used)
        gained = branches.episodes["reward"][:used] - before
        gained += [charge(branches.run(place), self.plays.platform.cores) for place in range(used)]
        gained *= [weight(branches.run(place)) for place in range(used)]
        asked.gains += [float(gained[one] - gained[other]) for one, other in self._open]
        self._open, self._used = [], 0

    def _play(self, used: int) -> None:
        """Play the first branches to their ends by the agent."""
        branches, chosen = self.branches, np.zeros(self.how.branches, np.int64)
        while not branches.over[:used].all():
            active = np.flatnonzero(~branches.over[:used])
            masks = branches.masks[active]
            chosen[active] = self.agent.decide(branches.observations[active], masks.copy(), active)
            forced = self._forced[active]
            due = (forced != NONE) & (branches.now[active] <= self._until[active])
            due[due] = masks[np.flatnonzero(due), forced[due]]
            chosen[active[due]] = forced[due]
            branches.step(chosen)
            self._decisions += len(active)


@contextmanager
def deterministic(agent: PolicyLearningAgent) -> Iterator[None]:
    """Make an agent take its most probable actions within the block."""
    was_greedy, was_training = agent.greedy, agent.training
    agent.greedy = True
    agent.eval()
    try:
        yield
    finally:
        agent.greedy = was_greedy
        agent.train(was_training)


def charge(run: Run, cores: int) -> float:
    """Return what the objective loses until a machine of so many cores has worked off what waits; 0 or less."""
    tables, window, reward = run.core.tables, run.core.window, run.core.reward
    waiting = int(tables.clock["waiting"][0])
    mode = int(reward.params["mode"][0])
    if waiting == 0 or mode not in (CHANGE, END, INTEGRAL):
        return 0.0
    jobs, rows = tables.jobs, tables.members[:waiting]
    seconds = float(jobs["requested_time"][rows] @ jobs["size"][rows]) / cores
    if mode == INTEGRAL:
        return seconds * float(weighted_value(tables, window, reward, 0.5 * seconds))
    return float(weighted_value(tables, window, reward, seconds) - weighted_value(tables, window, reward, 0.0))


def weight(run: Run) -> float:
    """Return what a branch's gain is multiplied by: the jobs until its end, where the objective is a mean over them.

    So a decision counts the same early and late in an episode.
    """
    mode = int(run.core.reward.params["mode"][0])
    return float(run.core.window.params["submitted"][0]) if mode in (CHANGE, END) else 1.0
