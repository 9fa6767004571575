// SPDX-License-Identifier: MIT
// Emits code that finds the counters of an aggregation's keys, before any action runs.
//
//   key ──hash──> place in the table ── has this key ──> offset of its counters
//                     ├ has another key: try the next places; after a few, the engine
//                     │                  handles this firing
//                     └ is empty: claim it for this key; the engine handles this firing
//
// dif/counters.h describes the table. Entries are never removed, so the result stays
// valid without a lock. If a thread dies after a claim, the place stays unused.
#include "ptrace-agent/native/arch/x86_64/routine.hpp"

#include "dif/counters.h"

#include <algorithm>
#include <cstddef>

namespace dt::native::x86 {

using namespace Xbyak::util;

// Moves the low n_bytes bytes of a value. The other bytes become zero.
void Routine::low_bytes(Reg64 to, Reg64 from, std::uint32_t n_bytes)
{
    if (n_bytes == 1)
        a_.movzx(to.cvt32(), from.cvt8());
    else if (n_bytes == 2)
        a_.movzx(to.cvt32(), from.cvt16());
    else
        a_.mov(to.cvt32(), from.cvt32());
}

// Computes the words of a key (dif/counters.h): the EPID if the key contains a name of
// the probe, then each integer. Reserves the registers of the words if they belong to
// the pool. The caller must release them.
std::vector<Reg64> Routine::key_words(const std::vector<Step::Part>& parts)
{
    std::vector<Reg64> words;
    auto is_name = [](const Step::Part& part) { return part.value.difo == nullptr; };
    if (std::any_of(parts.begin(), parts.end(), is_name)) {
        words.push_back(registers_.temporary({}));
        registers_.hold(words.back());
        a_.mov(words.back().cvt32(), ptr[rbx + offsetof(dt_rt_site, epid)]);
    }
    for (const Step::Part& part : parts) {
        if (is_name(part))
            continue;
        Reg64 word = value(part.value);
        if (part.action->rec_size != 8) {
            Reg64 all = word;
            word = registers_.in_pool(all) ? all : registers_.temporary({all});
            low_bytes(word, all, part.action->rec_size);
        }
        if (registers_.in_pool(word))
            registers_.hold(word);
        words.push_back(word);
    }
    return words;
}

// Emits the search for a key. Returns the register in which the emitted code stores the
// offset of the key's counters from the action's counters, in bytes. The pool does not
// reuse this register until it is released.
Reg64 Routine::find_key(const Step& step)
{
    const dt_action& action = *step.action;
    std::vector<Reg64> words = key_words(step.key);
    const std::uint32_t shift = dt_counted_key_shift(&action);
    const std::uint32_t places = dt_counted_places(&action);
    const std::uint64_t table =
        target_.arena + frame_.arena().counters.sets + dt_counted_at(&action);
    Reg64 at = registers_.temporary({});
    registers_.hold(at);
    a_.mov(at, DT_COUNTED_HASH);
    a_.imul(at, words[0]);
    for (std::size_t i = 1; i < words.size(); ++i) {
        a_.mov(rcx, DT_COUNTED_HASH);
        a_.add(at, words[i]);
        a_.imul(at, rcx);
    }
    a_.shr(at, 64 - __builtin_ctz(places) - static_cast<int>(shift));
    a_.and_(at, static_cast<std::uint32_t>(-(1 << shift)));
    a_.mov(rcx, a_.literal(table));
    a_.add(rcx, at);

    auto search = std::make_unique<Search>();
    auto compare = [this, words](Label& empty, Label& other) {
        static_assert(offsetof(dt_counted_key, key) == 8);
        // Test the state first. Once it is KNOWN, the key never changes.
        a_.cmp(qword[rcx], DT_COUNTED_KNOWN);
        a_.jne(empty);
        for (std::size_t i = 0; i < words.size(); ++i) {
            a_.cmp(ptr[rcx + 8 * (i + 1)], words[i]);
            a_.jne(other);
        }
    };
    compare(search->empty, search->other);
    a_.L(search->found);
    if (dt_counted_shift(&action) != shift)
        a_.shl(at, static_cast<int>(dt_counted_shift(&action) - shift));
    Search& out = *search;
    search->rest = [this, &out, compare, at, words, table, shift, &action] {
        a_.L(out.other);
        for (int i = 1; i < DT_COUNTED_REACH; ++i) {
            Label next;
            a_.add(rcx, 1 << shift);
            a_.add(at, 1 << shift);
            compare(out.empty, next);
            a_.jmp(out.found);
            a_.L(next);
        }
        a_.jmp(bail_);
        a_.L(out.empty);
        a_.mov(rcx, a_.literal(table + (std::uint64_t{action.counted_keys} << shift)));
        a_.mov(qword[rcx], 1);
        a_.mov(rcx, a_.literal(table));
        a_.add(rcx, at);
        static_assert(DT_COUNTED_CLAIMED == 1);
        a_.lock();
        a_.bts(qword[rcx], 0);
        a_.jc(bail_); // another thread has claimed this place
        for (std::size_t i = 0; i < words.size(); ++i)
            a_.mov(ptr[rcx + 8 * (i + 1)], words[i]);
        a_.mov(qword[rcx], DT_COUNTED_KNOWN);
        a_.jmp(bail_);
    };
    searches_.push_back(std::move(search));
    for (const Reg64& word : words)
        registers_.release(word);
    return at;
}

// Emits the rare cases of key searches after the code of the routine.
void Routine::place_searches()
{
    for (auto& search : searches_)
        search->rest();
}

} // namespace dt::native::x86
