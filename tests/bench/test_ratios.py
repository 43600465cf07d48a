"""How far the ratio of two latencies is known."""

import os
import subprocess
import sys

from bench.ratios import blocks, percentile, pooled, ratio, typical

STEADY = [float(place % 100 + 100) for place in range(2_000)]


def test_blocks_hold_every_sample_in_order_second_by_second():
    cut = list(blocks(STEADY, 20))

    assert [len(block) for block in cut] == [100] * 20
    assert [sample for block in cut for sample in block] == STEADY


def test_the_ratio_of_twice_as_long_is_two_and_lies_within_its_interval():
    without, beside = list(blocks(STEADY, 20)), list(blocks([2 * sample for sample in STEADY], 20))
    found = ratio(beside, without)

    assert found.value == 2
    assert found.least <= found.value <= found.most
    assert ratio(without, without).value == 1


def test_one_stall_widens_the_interval_and_leaves_a_usual_second_alone():
    without = list(blocks(STEADY, 20))
    stalled = [[1_000.0] * 100, *without[1:]]

    assert pooled(stalled) == 1_000
    assert typical(stalled) == typical(without) == percentile(STEADY[:100], 0.99)
    assert ratio(stalled, without).least == 1
    assert ratio(stalled, without).most > 5
    assert ratio(stalled, without, typical).value == 1


def test_what_runs_when_a_core_is_idle_is_scheduled_so():
    code = "import os; from bench.ratios import run_when_idle; run_when_idle(); print(os.sched_getscheduler(0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert int(done.stdout) == os.SCHED_IDLE
