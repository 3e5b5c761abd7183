"""What every Store has to do, whatever keeps its bytes.

To run another store through it, write a module with a `harness` fixture and import everything from here:

    from tests.store.contract import *

    @pytest.fixture
    def harness() -> Harness:
        return OurHarness()

`tests/store/test_contract_embedded.py` is that module for the embedded store. Each topic is a class in a file of its
own; the tests speak to the store through `viewkeeper.store.interface` and, for what is not in it, the harness.
"""

from tests.store.contract_as_of import TestAsOf, TestPositionsThatCannotBeRead
from tests.store.contract_cardinality import TestCardinality, TestWords
from tests.store.contract_catalog import TestSeveralHandles, TestSeveralProcesses
from tests.store.contract_conflicts import TestConflicts
from tests.store.contract_group_commit import TestGroupCommit
from tests.store.contract_janitor import TestDroppedTables, TestTruncation
from tests.store.contract_load import TestLoad
from tests.store.contract_log import TestLog, TestSections
from tests.store.contract_long_keys import TestLongKeys
from tests.store.contract_partitions import TestHashPartitions, TestRangePartitions
from tests.store.contract_positions import TestPositions
from tests.store.contract_reads import TestGets, TestScans
from tests.store.contract_split import TestSplit
from tests.store.contract_tables import TestColumns, TestSettings, TestTables
from tests.store.contract_transactions import TestOwnWrites, TestTransactions

__all__ = [
    "TestAsOf",
    "TestCardinality",
    "TestColumns",
    "TestConflicts",
    "TestDroppedTables",
    "TestGets",
    "TestGroupCommit",
    "TestHashPartitions",
    "TestLoad",
    "TestLog",
    "TestLongKeys",
    "TestOwnWrites",
    "TestPositions",
    "TestPositionsThatCannotBeRead",
    "TestRangePartitions",
    "TestScans",
    "TestSections",
    "TestSettings",
    "TestSeveralHandles",
    "TestSeveralProcesses",
    "TestSplit",
    "TestTables",
    "TestTransactions",
    "TestTruncation",
    "TestWords",
]
