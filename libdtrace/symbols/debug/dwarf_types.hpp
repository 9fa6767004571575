// SPDX-License-Identifier: MIT
// The DWARF of a file: types by name, types of variables, and parameters of functions.
//
//   .debug_info of the file or its debug file, and of the alternate file (dwz)
//     ── once, top-level entries ──> index: (kind, name) -> entry
//
// If a name has several definitions, the definition that is nested in the fewest
// namespaces and types is used.
#pragma once

#include "libdtrace/symbols/debug/debug_types.hpp"

namespace dt {

class DwarfTypes final : public DebugTypes {
public:
    // Opens the DWARF of an ELF file. The caller may close the file afterwards. Errors:
    // Code::corrupt if there is no DWARF or libdw refuses it, Code::limit if it is too
    // large, Code::unsupported if an alternate file is not found.
    static Result<std::unique_ptr<DebugTypes>> open(int fd);
    ~DwarfTypes() override;

    // Finds a type by name. A C++ class is found as a tag and as an ordinary name.
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
