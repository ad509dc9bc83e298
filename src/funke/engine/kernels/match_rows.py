"""The loop of patterns over columns: the rows of each key, in the order of time, move its partial matches.

A link is a partial match and at once the last row that it has taken, as in `operators/patterns/runs.py`; its parts are
those of a run there. Links are only added, so that partial matches that branch share what they have in common. Beside
each link stand the accumulators of the rows up to it.

Conditions that look at the rows of the match are small programs: instructions that push and combine values of 64 bits,
each with a mark that says whether it is NULL. A row is known by its index in the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funke.engine.kernels.aggregate_rows import (
    AVERAGE,
    AVERAGE_OF_FLOATS,
    COUNT,
    GREATEST,
    LEAST,
    LEAST_FLOAT,
    SUM,
    SUM_OF_FLOATS,
)
from funke.engine.kernels.kernel import Float64s, Int64s, UInt8s, bytes_at, doubles_at, kernel, part, words_at

__all__ = [
    "ADD",
    "AGGREGATE_WIDTH",
    "ALL_OF",
    "ANY_OF",
    "CHECKS",
    "COMPARE",
    "CONSTANT",
    "FAILS",
    "FIRST_ROW",
    "INSTRUCTION_WIDTH",
    "IS_NULL",
    "KEPT",
    "LAST_ROW",
    "LINKS",
    "LINK_WIDTH",
    "LOOK_UP",
    "LOOKUP_WIDTH",
    "MATCHES",
    "MULTIPLY",
    "NOT",
    "NO_ROOM",
    "NULL",
    "OF_ROWS",
    "RULES",
    "SUBTRACT",
    "TO_FLOAT",
    "look_up_rows",
    "match_rows",
]

# A link: state, stage, row, time, number of the row, the link before it (-1: none), and the first one (-1: itself).
LINK_WIDTH = 7
_STATE, _STAGE, _ROW, _TIME, _NUMBER, _BEFORE, _FIRST = range(LINK_WIDTH)
# Indexes of `rules`. The kind of skip: its index in SkipKind.
_START, _CONDITIONS, _START_SHIFT, _ITERATIVE, _WITHIN, _SKIP, _SKIP_STAGE, _MISS_FAILS, _AGGREGATES, _END = range(10)
RULES = 10
_TO_NEXT, _PAST_LAST, _TO_FIRST = 1, 2, 3
# Indexes of `counters`. Behind them for each condition how often it was looked at, then how often it was false.
LINKS, KEPT, MATCHES, _RUNS, _WAITS, _BASE = range(6)
CHECKS = 6
# What `match_rows` returns, if not 0: it needs more room, or a match lacks the stage that is skipped to.
NO_ROOM, FAILS = 1, 2
# A lookup: its kind, the stages as bits (0: all), its column, how many rows are passed over, its aggregate.
LOOKUP_WIDTH = 5
LAST_ROW, FIRST_ROW, OF_ROWS = range(3)
# An aggregate: its operation, as in `aggregate_rows`, its column (-1: none), the stages as bits, the bits of the sum
# and of the result.
AGGREGATE_WIDTH = 5
# An instruction: what is done, and two numbers. COMPARE: which comparison, whether of floats. ADD, SUBTRACT, MULTIPLY:
# the bits of the result, 0 for floats. ALL_OF, ANY_OF: of how many values.
INSTRUCTION_WIDTH = 3
LOOK_UP, CONSTANT, NULL, COMPARE, ADD, SUBTRACT, MULTIPLY, ALL_OF, ANY_OF, NOT, IS_NULL, TO_FLOAT = range(12)


@part
def _is_in(stages: Any, stage: Any) -> Any:
    return stages == 0 or (stages >> stage) & 1 != 0


@part
def _wrapped(value: Any, bits: Any) -> Any:
    """An integer of fewer bits overflows as in Java."""
    return value if bits == 64 else (value << (64 - bits)) >> (64 - bits)


@part
def _is_there(columns: Any, column: Any, row: Any) -> Any:
    validity = columns[2 * column + 1]
    return validity == 0 or bytes_at(validity)[row] != 0


# Aggregates: two words each, which are those of `aggregate_rows`.


@part
def _begin(aggregates: Any, at: Any, words: Any, reals: Any, target: Any) -> Any:
    words[target] = words[target + 1] = 0
    if aggregates[at] in (SUM_OF_FLOATS, AVERAGE_OF_FLOATS):
        # What changes no float when it is added.
        reals[target] = -0.0


@part
def _take(aggregates: Any, at: Any, columns: Any, words: Any, reals: Any, target: Any, stage: Any, row: Any) -> Any:
    """Takes a row into an accumulator."""
    operation, column = aggregates[at], aggregates[at + 1]
    if not _is_in(aggregates[at + 2], stage) or (column >= 0 and not _is_there(columns, column, row)):
        return
    if operation == COUNT:
        words[target] += 1
        return
    if operation in (SUM, AVERAGE):
        words[target] = _wrapped(words[target] + words_at(columns[2 * column])[row], aggregates[at + 3])
    elif operation in (SUM_OF_FLOATS, AVERAGE_OF_FLOATS):
        reals[target] += doubles_at(columns[2 * column])[row]
    elif operation in (LEAST, GREATEST):
        value, extreme = words_at(columns[2 * column])[row], words[target]
        if words[target + 1] == 0 or (value < extreme if operation == LEAST else value > extreme):
            words[target] = value
    else:
        number, best = doubles_at(columns[2 * column])[row], reals[target]
        if words[target + 1] == 0 or (number < best if operation == LEAST_FLOAT else number > best):
            reals[target] = number
    words[target + 1] += 1


@part
def _accumulate(
    aggregates: Any,
    count: Any,
    columns: Any,
    words: Any,
    reals: Any,
    link: Any,
    before: Any,
    stage: Any,
    row: Any,
) -> Any:
    """The accumulators of a link: those of the link before it, with one row more; without a row (-1) the same."""
    for each in range(count):
        target = 2 * (link * count + each)
        if before >= 0:
            source = 2 * (before * count + each)
            words[target], words[target + 1] = words[source], words[source + 1]
        else:
            _begin(aggregates, each * AGGREGATE_WIDTH, words, reals, target)
        if row >= 0:
            _take(aggregates, each * AGGREGATE_WIDTH, columns, words, reals, target, stage, row)


@part
def _show(
    aggregates: Any, at: Any, words: Any, reals: Any, source: Any, results: Any, result_reals: Any, to: Any
) -> Any:
    """Writes the result of an accumulator; returns whether it is NULL."""
    operation, count = aggregates[at], words[source + 1]
    if operation == COUNT:
        results[to] = words[source]
        return False
    if count == 0:
        return True
    if operation == AVERAGE_OF_FLOATS:
        result_reals[to] = np.true_divide(reals[source], count)
    elif operation == AVERAGE:
        total = words[source]
        # NumPy's division does not raise. Towards zero, as in Java.
        quotient = np.floor_divide(total, count)
        if total < 0 and quotient * count != total:
            quotient += 1
        results[to] = _wrapped(quotient, aggregates[at + 4])
    else:
        results[to] = words[source]
    return False


# Lookups


@part
def _start_of(links: Any, run: Any) -> Any:
    first = links[run * LINK_WIDTH + _FIRST]
    return run if first < 0 else first


@part
def _row_of(lookups: Any, at: Any, links: Any, run: Any, own_stage: Any, own_row: Any) -> Any:
    """The row that a lookup finds in a partial match and a row behind it (-1: none); -1 if there is no such row."""
    stages, left = lookups[at + 1], lookups[at + 3]
    is_own = own_row >= 0 and _is_in(stages, own_stage)
    if lookups[at] == FIRST_ROW:
        if run >= 0 and left == 0:
            first = _start_of(links, run)
            if _is_in(stages, links[first * LINK_WIDTH + _STAGE]):
                return links[first * LINK_WIDTH + _ROW]
        # Counted from the last one.
        left = (1 if is_own else 0) - 1 - left
        each = run
        while each >= 0:
            if _is_in(stages, links[each * LINK_WIDTH + _STAGE]):
                left += 1
            each = links[each * LINK_WIDTH + _BEFORE]
        if left < 0:
            return -1
    if is_own:
        if left == 0:
            return own_row
        left -= 1
    each = run
    while each >= 0:
        if _is_in(stages, links[each * LINK_WIDTH + _STAGE]):
            if left == 0:
                return links[each * LINK_WIDTH + _ROW]
            left -= 1
        each = links[each * LINK_WIDTH + _BEFORE]
    return -1


@part
def _look_up(
    lookups: Any,
    at: Any,
    aggregates: Any,
    count: Any,
    columns: Any,
    links: Any,
    words: Any,
    reals: Any,
    free: Any,
    run: Any,
    stage: Any,
    row: Any,
    results: Any,
    result_reals: Any,
    to: Any,
) -> Any:
    """Writes the result of a lookup; returns whether it is NULL. `free` is a link for accumulators."""
    if lookups[at] == OF_ROWS:
        aggregate = lookups[at + 4]
        each = aggregate * AGGREGATE_WIDTH
        source = 2 * (run * count + aggregate)
        if run < 0 or row >= 0:
            target = 2 * (free * count + aggregate)
            if run < 0:
                _begin(aggregates, each, words, reals, target)
            else:
                words[target], words[target + 1] = words[source], words[source + 1]
            if row >= 0:
                _take(aggregates, each, columns, words, reals, target, stage, row)
            source = target
        return _show(aggregates, each, words, reals, source, results, result_reals, to)
    column, chosen = lookups[at + 2], _row_of(lookups, at, links, run, stage, row)
    if chosen < 0 or not _is_there(columns, column, chosen):
        return True
    results[to] = words_at(columns[2 * column])[chosen]
    return False


# Conditions


@part
def _compare(comparison: Any, left: Any, right: Any) -> Any:
    if comparison == 0:
        return left == right
    if comparison == 1:
        return left != right
    if comparison == 2:
        return left < right
    if comparison == 3:
        return left <= right
    if comparison == 4:
        return left > right
    return left >= right


@part
def _calculate(operation: Any, left: Any, right: Any) -> Any:
    if operation == ADD:
        return left + right
    return left - right if operation == SUBTRACT else left * right


@part
def _holds(  # noqa: PLR0912 - a case for each instruction
    code: Any,
    begin: Any,
    end: Any,
    lookups: Any,
    aggregates: Any,
    count: Any,
    columns: Any,
    links: Any,
    words: Any,
    reals: Any,
    free: Any,
    run: Any,
    stage: Any,
    row: Any,
    stack: Any,
    stack_reals: Any,
    nulls: Any,
) -> Any:
    """Whether a condition is true for a row behind a partial match."""
    top = -1
    for instruction in range(begin, end):
        at = instruction * INSTRUCTION_WIDTH
        operation, first, second = code[at], code[at + 1], code[at + 2]
        if operation == LOOK_UP:
            top += 1
            is_null = _look_up(
                lookups,
                first * LOOKUP_WIDTH,
                aggregates,
                count,
                columns,
                links,
                words,
                reals,
                free,
                run,
                stage,
                row,
                stack,
                stack_reals,
                top,
            )
            nulls[top] = 1 if is_null else 0
        elif operation == CONSTANT:
            top += 1
            stack[top], nulls[top] = first, 0
        elif operation == NULL:
            top += 1
            nulls[top] = 1
        elif operation == COMPARE:
            top -= 1
            nulls[top] |= nulls[top + 1]
            if nulls[top] == 0:
                if second != 0:
                    is_true = _compare(first, stack_reals[top], stack_reals[top + 1])
                else:
                    is_true = _compare(first, stack[top], stack[top + 1])
                stack[top] = 1 if is_true else 0
        elif operation in (ADD, SUBTRACT, MULTIPLY):
            top -= 1
            nulls[top] |= nulls[top + 1]
            if nulls[top] == 0:
                if first == 0:
                    stack_reals[top] = _calculate(operation, stack_reals[top], stack_reals[top + 1])
                else:
                    stack[top] = _wrapped(_calculate(operation, stack[top], stack[top + 1]), first)
        elif operation in (ALL_OF, ANY_OF):
            # Of what decides (FALSE for AND, TRUE for OR) one is enough; else one NULL makes it NULL.
            decisive = 0 if operation == ALL_OF else 1
            top -= first - 1
            is_decided = has_null = False
            for each in range(top, top + first):
                if nulls[each] != 0:
                    has_null = True
                elif stack[each] == decisive:
                    is_decided = True
            stack[top] = decisive if is_decided else 1 - decisive
            nulls[top] = 1 if has_null and not is_decided else 0
        elif operation == NOT:
            stack[top] = 1 - stack[top]
        elif operation == IS_NULL:
            stack[top] = 1 if nulls[top] == first else 0
            nulls[top] = 0
        else:
            stack_reals[top] = np.float64(stack[top])
    return nulls[0] == 0 and stack[0] != 0


# Partial matches and matches of the key at hand


@part
def _rank(links: Any, run: Any) -> Any:
    """The number of the first row."""
    return links[_start_of(links, run) * LINK_WIDTH + _NUMBER]


@part
def _sink(links: Any, heap: Any, count: Any, start: Any) -> Any:
    index, element = start, heap[start]
    rank = _rank(links, element)
    while 2 * index + 1 < count:
        child = 2 * index + 1
        if child + 1 < count and _rank(links, heap[child]) > _rank(links, heap[child + 1]):
            child += 1
        if rank <= _rank(links, heap[child]):
            break
        heap[index] = heap[child]
        index = child
    heap[index] = element


@part
def _offer(links: Any, waits: Any, counters: Any, match: Any) -> Any:
    """As `offer` of `operators/patterns/match_queue.py`."""
    index = counters[_WAITS]
    counters[_WAITS] += 1
    waits[index] = match
    rank = _rank(links, match)
    while index > 0 and _rank(links, waits[(index - 1) >> 1]) > rank:
        parent = (index - 1) >> 1
        waits[index], waits[parent] = waits[parent], match
        index = parent


@part
def _skipped_until(rules: Any, links: Any, match: Any) -> Any:
    """Partial matches whose first row is before this one are skipped; -1: none, -2: it fails."""
    kind, number = rules[_SKIP], -1
    if kind == _TO_NEXT:
        return _rank(links, match) + 1
    if kind == _PAST_LAST:
        return links[match * LINK_WIDTH + _NUMBER] + 1
    each = match
    while each >= 0 and (number < 0 or kind == _TO_FIRST):
        if links[each * LINK_WIDTH + _STAGE] == rules[_SKIP_STAGE]:
            number = links[each * LINK_WIDTH + _NUMBER]
        each = links[each * LINK_WIDTH + _BEFORE]
    if rules[_MISS_FAILS] != 0 and (number < 0 or number == _rank(links, match)):
        return -2
    return number


@part
def _send_matches(rules: Any, links: Any, runs: Any, waits: Any, matches: Any, counters: Any, time: Any) -> Any:
    """Sends the matches that wait for no partial match that began before them; False if that fails."""
    base = counters[_BASE]
    while counters[_WAITS] > 0 and (counters[_RUNS] == 0 or _rank(links, waits[0]) <= _rank(links, runs[base])):
        match = waits[0]
        counters[_WAITS] -= 1
        if counters[_WAITS] > 0:
            waits[0] = waits[counters[_WAITS]]
            _sink(links, waits, counters[_WAITS], 0)
        at = 2 * counters[MATCHES]
        matches[at], matches[at + 1] = match, time
        counters[MATCHES] += 1
        until = _skipped_until(rules, links, match)
        if until == -2:
            return False
        kept_count = 0
        for each in range(counters[_RUNS]):
            if _rank(links, runs[base + each]) >= until:
                runs[base + kept_count] = runs[base + each]
                kept_count += 1
        counters[_RUNS] = kept_count
        kept_count = 0
        for each in range(counters[_WAITS]):
            if _rank(links, waits[each]) >= until:
                waits[kept_count] = waits[each]
                kept_count += 1
        counters[_WAITS] = kept_count
        for each in range((kept_count >> 1) - 1, -1, -1):
            _sink(links, waits, kept_count, each)
    return True


@part
def _expire(rules: Any, links: Any, runs: Any, waits: Any, matches: Any, counters: Any, time: Any) -> Any:
    """Nothing earlier than `time` comes any more: forgets what is over; False if that fails."""
    base, within = counters[_BASE], rules[_WITHIN]
    if within == 0 or counters[_RUNS] == 0:
        return True
    if time - links[_start_of(links, runs[base]) * LINK_WIDTH + _TIME] < within:
        # They stand in the order of their first rows.
        return True
    kept_count = 0
    for each in range(counters[_RUNS]):
        if time - links[_start_of(links, runs[base + each]) * LINK_WIDTH + _TIME] < within:
            runs[base + kept_count] = runs[base + each]
            kept_count += 1
    counters[_RUNS] = kept_count
    return _send_matches(rules, links, runs, waits, matches, counters, time)


@kernel
def match_rows(  # noqa: PLR0912, PLR0915 - its parts share too many numbers
    rules: Int64s,
    looks_at: Int64s,
    decisions: Int64s,
    steps: Int64s,
    code: Int64s,
    stage_of: Int64s,
    lookups: Int64s,
    aggregates: Int64s,
    columns: Int64s,
    key_count: int,
    first_rows: Int64s,
    rows: Int64s,
    times: Int64s,
    bits: Int64s,
    held_at: Int64s,
    held: Int64s,
    links: Int64s,
    most_links: int,
    words: Int64s,
    reals: Float64s,
    runs: Int64s,
    waits: Int64s,
    kept_at: Int64s,
    kept: Int64s,
    matches: Int64s,
    stack: Int64s,
    stack_reals: Float64s,
    nulls: UInt8s,
    counters: Int64s,
) -> int:
    """Moves the partial matches of keys by their rows; returns 0, NO_ROOM or FAILS.

    `held` has for each key its partial matches, then the matches that wait, and `kept` gets the same for what is left;
    `held_at` and `kept_at` say where they begin. `decisions` has for each state and each set of its conditions where in
    `steps` it says what becomes of a partial match: how many steps (-1: it stays), then stage, state and whether it is
    a match. `code` begins with where the program of each condition begins. `matches` gets links and the times at which
    they are sent. The last rule is the time that has come after all rows, a very early one if that does not count.
    """
    start, condition_count, start_shift = rules[_START], rules[_CONDITIONS], rules[_START_SHIFT]
    iterative, aggregate_count = rules[_ITERATIVE], rules[_AGGREGATES]
    for link in range(counters[LINKS]):
        at = link * LINK_WIDTH
        before, stage, row = links[at + _BEFORE], links[at + _STAGE], links[at + _ROW]
        _accumulate(aggregates, aggregate_count, columns, words, reals, link, before, stage, row)
    for key in range(key_count):
        counters[_BASE] = counters[_RUNS] = counters[_WAITS] = 0
        number = 0
        for each in range(held_at[2 * key], held_at[2 * key + 1]):
            runs[counters[_RUNS]] = held[each]
            counters[_RUNS] += 1
            number = max(number, links[held[each] * LINK_WIDTH + _NUMBER] + 1)
        for each in range(held_at[2 * key + 1], held_at[2 * key + 2]):
            waits[counters[_WAITS]] = held[each]
            counters[_WAITS] += 1
            number = max(number, links[held[each] * LINK_WIDTH + _NUMBER] + 1)
        for index in range(first_rows[key], first_rows[key + 1]):
            row, time, own_bits = rows[index], times[index], bits[index]
            if not _expire(rules, links, runs, waits, matches, counters, time):
                return FAILS
            base, run_count = counters[_BASE], counters[_RUNS]
            target, kept_count = most_links - base, 0
            if run_count == 0 and counters[_WAITS] == 0:
                number = 0
            is_taken = has_match = False
            # The last one is the start, from which every row may begin a partial match.
            for each in range(run_count + 1):
                run = runs[base + each] if each < run_count else np.int64(-1)
                state = links[run * LINK_WIDTH + _STATE] if run >= 0 else start
                looked = looks_at[state]
                if run < 0 and start_shift > 0:
                    true_bits = (own_bits & ~iterative | (own_bits >> start_shift) & iterative) & looked
                else:
                    true_bits = own_bits & looked & ~iterative
                    needed = looked & iterative
                    for condition in range(condition_count):
                        if (needed >> condition) & 1 != 0:
                            counters[CHECKS + condition] += 1
                            if _holds(
                                code,
                                code[condition],
                                code[condition + 1],
                                lookups,
                                aggregates,
                                aggregate_count,
                                columns,
                                links,
                                words,
                                reals,
                                most_links,
                                run,
                                stage_of[condition],
                                row,
                                stack,
                                stack_reals,
                                nulls,
                            ):
                                true_bits |= 1 << condition
                            else:
                                counters[CHECKS + condition_count + condition] += 1
                at = decisions[(state << condition_count) + true_bits]
                step_count = steps[at]
                if step_count < 0 and run >= 0:
                    runs[target + kept_count] = run
                    kept_count += 1
                    continue
                for step in range(step_count):
                    stage, next_state = steps[at + 1 + 3 * step], steps[at + 2 + 3 * step]
                    link = counters[LINKS]
                    if link >= most_links:
                        return NO_ROOM
                    counters[LINKS] += 1
                    to = link * LINK_WIDTH
                    if stage >= 0:
                        is_taken = True
                        links[to + _STAGE], links[to + _ROW], links[to + _TIME] = stage, row, time
                        links[to + _NUMBER], links[to + _BEFORE] = number, run
                        links[to + _FIRST] = _start_of(links, run) if run >= 0 else -1
                    else:
                        for word in range(1, LINK_WIDTH):
                            links[to + word] = links[run * LINK_WIDTH + word]
                    links[to + _STATE] = next_state
                    own_row = row if stage >= 0 else -1
                    _accumulate(aggregates, aggregate_count, columns, words, reals, link, run, stage, own_row)
                    if steps[at + 3 + 3 * step] != 0:
                        has_match = True
                        _offer(links, waits, counters, link)
                    if next_state >= 0:
                        runs[target + kept_count] = link
                        kept_count += 1
            counters[_BASE], counters[_RUNS] = target, kept_count
            if is_taken:
                number += 1
            if (has_match or counters[_WAITS] > 0) and not _send_matches(
                rules, links, runs, waits, matches, counters, time
            ):
                return FAILS
        if not _expire(rules, links, runs, waits, matches, counters, rules[_END]):
            return FAILS
        kept_at[2 * key] = counters[KEPT]
        for each in range(counters[_RUNS]):
            kept[counters[KEPT]] = runs[counters[_BASE] + each]
            counters[KEPT] += 1
        kept_at[2 * key + 1] = counters[KEPT]
        for each in range(counters[_WAITS]):
            kept[counters[KEPT]] = waits[each]
            counters[KEPT] += 1
    kept_at[2 * key_count] = counters[KEPT]
    return 0


@kernel
def look_up_rows(
    lookups: Int64s,
    lookup_count: int,
    matches: Int64s,
    match_count: int,
    aggregates: Int64s,
    aggregate_count: int,
    links: Int64s,
    words: Int64s,
    reals: Float64s,
    rows: Int64s,
    results: Int64s,
    result_reals: Float64s,
    nulls: UInt8s,
) -> None:
    """What matches look up, for each lookup and each match: the row (-1: none), or the result of an aggregate."""
    for lookup in range(lookup_count):
        at = lookup * LOOKUP_WIDTH
        for index in range(match_count):
            to = lookup * match_count + index
            if lookups[at] == OF_ROWS:
                source = 2 * (matches[index] * aggregate_count + lookups[at + 4])
                each = lookups[at + 4] * AGGREGATE_WIDTH
                is_null = _show(aggregates, each, words, reals, source, results, result_reals, to)
                nulls[to] = 1 if is_null else 0
            else:
                rows[to] = _row_of(lookups, at, links, matches[index], 0, -1)
