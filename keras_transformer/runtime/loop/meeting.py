"""Searches that run side by side and go on as one: what begins later catches up with what began
before, and from there on their rows share each step.
"""

import dataclasses
import threading
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any, Protocol

from keras_transformer.runtime.turns import Abandoned, Turn
from keras_transformer.search.options import Candidate, SearchOptions

# Options by which the rows of one search may differ.
_OF_ROWS = {"max_length", "seed", "first_place", "stop", "stop_tokens"}
# The shorter of two searches has at least this share of the other's steps left: a short one is done
# earlier alone.
_LIKE = 0.5


class Search(Protocol):
    """A search that can be advanced run by run."""

    @property
    def step(self) -> int:
        """Tokens that each row has so far."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether any sentence is not done."""
        ...

    def advance(self, most: int | None = None) -> Any:
        """Makes the next run of the decoder, of `most` steps at most."""
        ...

    def results(self) -> list[list[Candidate]]:
        """Returns each sentence's candidates so far."""
        ...

    def tokens_of(self, sentence: int) -> list[int]:
        """Returns a sentence's tokens behind its prompt so far, without eos; of one row each."""
        ...

    def is_found(self, sentences: range) -> bool:
        """Tells whether some sentences are done."""
        ...

    def drop(self, sentences: range) -> None:
        """Ends some sentences, of which no results are wanted."""
        ...

    def take_in(self, other: Any) -> None:
        """Goes on with the sentences of another search of as many tokens, too."""
        ...


@dataclasses.dataclass(frozen=True)
class Terms:
    """On which terms a search goes on together with others.

    Attributes:
        kind: What both have in common.
        expected: How many tokens its longest row may have in the end.
        most: Most sentences together.
        is_part: Whether it runs on one thread beside other parts of its call, which keep pace.
    """

    kind: Hashable
    expected: int
    most: int
    is_part: bool = False


class Held(Protocol):
    """The decoder of a search, which is closed when each of its holders has closed it."""

    def hold(self) -> None:
        """Adds a holder."""
        ...

    def close(self) -> None:
        """Ends what a holder needs it for."""
        ...


@dataclasses.dataclass(eq=False)
class _Running:
    """A search and the calls whose sentences it has.

    Attributes:
        search: The search.
        steps: Its decoder.
        terms: On which it goes on together with others.
        begun: The tokens that it began with.
        calls: The calls, of which the first that is open advances it.
        waits: Whether it stands between two steps.
        error: What went wrong.
    """

    search: Search
    steps: Held
    terms: "Terms"
    begun: int
    calls: "list[_Call]" = dataclasses.field(default_factory=list)
    waits: bool = False
    error: Exception | None = None

    @property
    def sentences(self) -> int:
        """Sentences so far, those that are done included."""
        return sum(len(call.sentences) for call in self.calls)

    @property
    def most(self) -> int:
        """Most sentences that it may have."""
        return self.calls[0].turn.at_most(self.terms.most)

    @property
    def has_stepped(self) -> bool:
        """Whether its rows have what a joined search needs."""
        return self.search.step > self.begun

    def goes_with(self, other: "_Running") -> bool:
        """Tells whether the two may go on as one."""
        turns = {call.turn for call in self.calls}
        left, of_other = (max(1, one.terms.expected - one.search.step) for one in (self, other))
        return (
            other is not self
            and self.search.goes_on
            and other.search.goes_on
            and turns.isdisjoint(call.turn for call in other.calls)
            and self.sentences + other.sentences <= min(self.most, other.most)
            and not (self.terms.is_part and other.terms.is_part)
            and _LIKE * max(left, of_other) <= min(left, of_other)
        )

    def take_in(self, other: "_Running") -> None:
        """Goes on with another one's sentences, too."""
        self.search.take_in(other.search)
        first = self.sentences
        for call in other.calls:
            own = call.sentences
            call.running = self
            call.sentences = range(first + own.start, first + own.stop)
        self.calls += other.calls
        expected = max(self.terms.expected, other.terms.expected)
        self.terms = dataclasses.replace(self.terms, expected=expected)


@dataclasses.dataclass(eq=False)
class _Call:
    """A call that waits for its sentences.

    Attributes:
        turn: Its turn.
        running: The search that has them.
        sentences: Their places there.
        is_found: Whether they are done.
        has_ended: Whether it waits no more.
        tokens: Those of its one row so far, if it wants them as they come.
        held: The decoder that it has to close, as another call began it.
    """

    turn: Turn
    running: _Running
    sentences: range
    is_found: bool = False
    has_ended: bool = False
    tokens: list[int] | None = None
    held: Held | None = None

    @property
    def drives(self) -> bool:
        """Whether it is the one that advances the search."""
        return next(call for call in self.running.calls if not call.has_ended) is self


class Meeting:
    """The searches of one engine; each call has a thread of its own.

    Attributes:
        joined: How many searches went on in another one so far.
        left: How many calls had their results while a search went on for others.
    """

    def __init__(self) -> None:
        self.joined = self.left = 0
        self._changed = threading.Condition()
        self._running: dict[Hashable, list[_Running]] = defaultdict(list)

    def run(
        self, search: Search, steps: Held, turn: Turn, sentences: int, terms: Terms
    ) -> list[list[Candidate]]:
        """Runs a search, alone or together with others.

        Args:
            search: The search, which has not begun.
            steps: Its decoder.
            turn: The turn of the call.
            sentences: How many sentences it has.
            terms: On which it goes on together with others.

        Returns:
            The candidates of its own sentences.

        Raises:
            Abandoned: The turn was abandoned.
            RuntimeError: The call that advanced the search failed.
        """
        running = _Running(search, steps, terms, search.step)
        call = _Call(turn, running, range(sentences))
        for _ in self._rounds(call, terms.kind):
            pass
        own = call.sentences
        return call.running.search.results()[own.start : own.stop]

    def stream(self, search: Search, steps: Held, turn: Turn, terms: Terms) -> Iterator[int]:
        """Yields the tokens of a search for one sentence, behind its prompt and without eos.

        Arguments and errors are those of `run`.
        """
        call = _Call(turn, _Running(search, steps, terms, search.step), range(1), tokens=[])
        said = 0
        for tokens in self._rounds(call, terms.kind):
            yield from tokens[said:]
            said = len(tokens)

    def _rounds(self, call: _Call, kind: Hashable) -> Iterator[list[int]]:
        """Advances a call's search, or waits until others did, until its sentences are found.

        Yields the tokens of its one row so far, if it wants them.
        """
        call.running.calls.append(call)
        with self._changed:
            self._running[kind].append(call.running)
        try:
            with call.turn.searching():
                while not call.is_found:
                    if call.drives:
                        self._advance(call, kind)
                    else:
                        self._wait(call)
                    yield call.tokens or []
        except Exception as error:
            if call.drives and not isinstance(error, Abandoned):
                call.running.error = error
            raise
        finally:
            self._end(call, kind)

    def _advance(self, call: _Call, kind: Hashable) -> None:
        """Has another search take in the call's, or makes its next run."""
        running = call.running
        if call.turn.is_alone and len(running.calls) == 1:
            self._advance_alone(call)
            return
        with self._changed:
            if self._is_taken_in(running, kind):
                return
            running.waits = True
            self._changed.notify_all()
            if self._is_followed(running, kind):
                with call.turn.resting():
                    self._changed.wait_for(
                        lambda: not self._is_followed(running, kind), call.turn.patience
                    )
        call.turn.wait()
        with self._changed:
            if call.running is not running:
                return
            running.waits = False
            self._drop_abandoned(running)
        if call.turn.is_abandoned:
            raise Abandoned
        if running.search.goes_on:
            running.search.advance(self._steps_ahead(running, kind))
        with self._changed:
            for other in running.calls:
                if other.tokens is not None and not other.is_found:
                    other.tokens = running.search.tokens_of(other.sentences.start)
                other.is_found = running.search.is_found(other.sentences)
            self._changed.notify_all()

    def _advance_alone(self, call: _Call) -> None:
        """Makes runs until another call begins, the row's next token is there, or all are found."""
        search = call.running.search
        while search.goes_on and call.turn.is_alone and not call.turn.is_abandoned:
            search.advance()
            if call.tokens is not None:
                call.tokens = search.tokens_of(call.sentences.start)
                break
        if call.turn.is_abandoned:
            raise Abandoned
        call.is_found = not search.goes_on

    def _wait(self, call: _Call) -> None:
        """Waits until others have found what the call wants, or leave the search to it."""
        tokens = call.tokens
        with self._changed, call.turn.resting():
            self._changed.wait_for(
                lambda: (
                    call.is_found or call.drives or call.running.error or call.tokens is not tokens
                )
            )
        if call.running.error is not None:
            raise RuntimeError("the search that this one had joined failed") from call.running.error

    def _end(self, call: _Call, kind: Hashable) -> None:
        """Leaves a search to the next call that waits for it."""
        with self._changed:
            running, drove = call.running, call.drives
            call.has_ended = True
            left = next((one for one in running.calls if not one.has_ended), None)
            self.left += left is not None and running.search.goes_on
            if left is None or running.error is not None:
                others = [one for one in self._running.pop(kind, []) if one is not running]
                if others:
                    self._running[kind] = others
            elif drove:
                running.steps.hold()
                left.held = running.steps
            self._changed.notify_all()
        if call.held is not None:
            call.held.close()

    def _is_taken_in(self, running: _Running, kind: Hashable) -> bool:
        """Joins searches that stand where this one does; returns whether one takes it in."""
        for other in [*self._running[kind]]:
            is_here = other.waits and other.search.step == running.search.step
            if not is_here or not (running.has_stepped and other.has_stepped):
                continue
            if not other.goes_with(running):
                continue
            host, guest = (running, other) if running.terms.is_part else (other, running)
            host.take_in(guest)
            self.joined += 1
            self._running[kind].remove(guest)
            if guest is running:
                return True
        return False

    def _is_followed(self, running: _Running, kind: Hashable) -> bool:
        """Tells whether another search is about to catch up with this one."""
        return any(
            other.search.step < running.search.step and running.goes_with(other)
            for other in self._running[kind]
        )

    def _steps_ahead(self, running: _Running, kind: Hashable) -> int | None:
        """Returns how many steps lead to the next search that this one may join; None for none."""
        ahead = [
            other.search.step - running.search.step
            for other in [*self._running[kind]]
            if other.search.step > running.search.step and other.goes_with(running)
        ]
        return min(ahead, default=None)

    def _drop_abandoned(self, running: _Running) -> None:
        for call in running.calls:
            if (call.turn.is_abandoned or call.has_ended) and not call.is_found:
                call.is_found = True
                running.search.drop(call.sentences)


def kind_of(options: SearchOptions, *others: Hashable) -> Hashable:
    """Returns what searches of these options must have in common to go on as one."""
    names = (field.name for field in dataclasses.fields(options))
    return (*others, *(getattr(options, name) for name in names if name not in _OF_ROWS))
