// SPDX-License-Identifier: MIT
#include "libdtrace/session/unwind_rules.hpp"

#include <algorithm>
#include <iterator>

static_assert(int{DTK_UNWIND_OUTERMOST} == int{DT_RT_FROM_NONE} &&
              int{DTK_UNWIND_RSP} == int{DT_RT_FROM_RSP} &&
              int{DTK_UNWIND_RBP} == int{DT_RT_FROM_RBP} &&
              int{DTK_UNWIND_AT_RBP} == int{DT_RT_FROM_AT_RBP} &&
              int{DTK_UNWIND_CFA} == int{DT_RT_FROM_CFA});

namespace dt {

static dtk_unwind_rule rule_of(const UnwindRow& row)
{
    dtk_unwind_rule rule{};
    rule.at = static_cast<dt_u32>(row.offset);
    rule.from = row.kind == UnwindRow::signal ? DTK_UNWIND_SIGNAL : DTK_UNWIND_NONE;
    if (row.kind != UnwindRow::rule || row.how.from > DT_RT_FROM_CFA)
        return rule;
    rule.cfa = row.how.cfa;
    rule.rbp = row.how.rbp;
    rule.from = row.how.from;
    rule.rbp_from = row.how.rbp_from;
    return rule;
}

std::vector<dtk_unwind_rule> compact_rules(std::span<const UnwindRow> rows)
{
    std::vector<dtk_unwind_rule> rules;
    for (const UnwindRow& row : rows) {
        if (row.offset >> 32 != 0 || (!rules.empty() && row.offset < rules.back().at))
            break;
        if (!rules.empty() && row.offset == rules.back().at)
            rules.pop_back(); // the previous rule covers no code
        rules.push_back(rule_of(row));
    }
    return rules;
}

const dtk_unwind_rule* find_rule(std::span<const dtk_unwind_rule> rules,
                                 std::uint64_t offset)
{
    const auto after = std::upper_bound(
        rules.begin(), rules.end(), offset,
        [](std::uint64_t at, const dtk_unwind_rule& rule) { return at < rule.at; });
    return after != rules.begin() ? &*std::prev(after) : nullptr;
}

} // namespace dt
