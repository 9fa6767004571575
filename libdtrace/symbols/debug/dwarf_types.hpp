// SPDX-License-Identifier: MIT
// What a file's DWARF says: its types by name, the types of its variables, the
// parameters of its functions.
//
//   .debug_info of the file, of its debug file, of what both share (dwz)
//     ── once, top-level entries ──> index: (kind, name) -> entry
//
// A name means the first definition that is found, as in a debugger without a context;
// what is declared outside of a namespace goes before what is inside of one.
#pragma once

#include "libdtrace/symbols/debug/debug_types.hpp"

namespace dt {

class DwarfTypes final : public DebugTypes {
public:
    // The file need not be kept. not_found: it has no DWARF; corrupt: libdw refuses it.
    static Result<std::unique_ptr<DebugTypes>> open(int fd);
    ~DwarfTypes() override;

    // A class of C++ has its name in both name spaces.
    std::optional<DebugRef> find(Kind kind, std::string_view name) override;
    std::optional<DebugVariable> find_variable(std::string_view name) override;
    std::optional<std::int64_t> find_enumerator(std::string_view name) override;
    std::optional<DebugFunction> function_at(std::uint64_t addr) override;
    DebugType type(DebugRef ref) override;
    std::vector<std::string_view> names(Kind kind) override;
    std::vector<std::string> take_cuts() override;

private:
    struct State;
    explicit DwarfTypes(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace dt
