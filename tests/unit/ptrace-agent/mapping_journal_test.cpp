// SPDX-License-Identifier: MIT
// Tests the journal of the agent's mappings in a target. This process is the target.
#include "base/page_bytes.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/inject/mapping_journal.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dt::agent {
namespace {

class Journal : public ::testing::Test {
protected:
    Journal()
    {
        const auto place = MappingJournal::find_place(mappings_of(getpid()));
        EXPECT_TRUE(place);
        void* mapped = mmap(reinterpret_cast<void*>(place->value), journal_bytes,
                            PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        at_ = {reinterpret_cast<std::uint64_t>(mapped)};
        EXPECT_EQ(at_, *place);
        EXPECT_TRUE(space_.journal.open(space_, at_));
    }
    ~Journal() override { munmap(reinterpret_cast<void*>(at_.value), journal_bytes); }

    JournalHeader header() const
    {
        JournalHeader found;
        std::memcpy(&found, reinterpret_cast<void*>(at_.value), sizeof found);
        return found;
    }
    JournalEntry entry(std::size_t i) const
    {
        JournalEntry found;
        std::memcpy(&found,
                    reinterpret_cast<void*>(
                        (at_ + sizeof(JournalHeader) + i * sizeof found).value),
                    sizeof found);
        return found;
    }

    TracepointTable table_;
    AddressSpace space_{getpid(), table_};
    TargetAddr at_;
};

TEST_F(Journal, IsRecognizedByItsMapping)
{
    const std::vector<Mapping> all = mappings_of(getpid());
    EXPECT_EQ(std::count_if(all.begin(), all.end(), is_journal), 1);
    const Mapping* own = find_mapping(all, at_);
    ASSERT_NE(own, nullptr);
    EXPECT_TRUE(is_journal(*own));
    Mapping writable = *own;
    writable.writable = true;
    EXPECT_FALSE(is_journal(writable));
}

TEST_F(Journal, RecordsTheStateOfEachMappingInTheTarget)
{
    MappingJournal& journal = space_.journal;
    EXPECT_EQ(header().magic, journal_magic);
    EXPECT_EQ(header().pid, static_cast<std::uint64_t>(getpid()));
    EXPECT_NE(header().start_time, 0u);
    journal.add(space_, {0x10000, 0x2000, 0x1000, Ours::slots, EntryState::planned});
    journal.add(space_, {0x20000, 0x1000, 0x1000, Ours::rescue, EntryState::mapped});
    journal.set_state(space_, {0x10000}, EntryState::mapped);
    EXPECT_EQ(header().n, 2u);
    EXPECT_EQ(entry(0).at, 0x10000u);
    EXPECT_EQ(entry(0).n_inherited, 0x1000u);
    EXPECT_EQ(entry(0).state, EntryState::mapped);
    EXPECT_EQ(entry(1).kind, Ours::rescue);
    EXPECT_FALSE(journal.is_empty());

    journal.set_state(space_, {0x10000}, EntryState::unused);
    journal.add(space_, {0x30000, 0x1000, 0x1000, Ours::page, EntryState::planned});
    EXPECT_EQ(header().n, 2u) << "an unused entry is reused";
    EXPECT_EQ(entry(0).at, 0x30000u);
    journal.set_state(space_, {0x20000}, EntryState::unused);
    journal.set_state(space_, {0x30000}, EntryState::unused);
    EXPECT_TRUE(journal.is_empty());
}

TEST_F(Journal, KeepsItsPlacesApart)
{
    MappingJournal& journal = space_.journal;
    const TargetAddr first = journal.next_place(0x1001), second = journal.next_place(1);
    EXPECT_GT(first, at_ + journal_bytes);
    EXPECT_GT(second, first + 0x2000);
    EXPECT_EQ(second.value % page_bytes, 0u);
    EXPECT_EQ(journal.next_place(1ull << 40).value, 0u);
}

TEST_F(Journal, IgnoresMappingsThatExceedItsSize)
{
    for (std::uint64_t i = 1; i <= max_journal_entries + 10; ++i)
        space_.journal.add(
            space_, {i << 16, 0x1000, 0x1000, Ours::trampolines, EntryState::mapped});
    EXPECT_EQ(header().n, max_journal_entries);
    EXPECT_EQ(entry(max_journal_entries - 1).at, max_journal_entries << 16);
}

} // namespace
} // namespace dt::agent
