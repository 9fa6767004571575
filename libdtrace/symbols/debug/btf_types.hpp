// SPDX-License-Identifier: MIT
// Types from the kernel's BTF, the parameters of its functions, and its per-CPU
// variables.
//
//   /sys/kernel/btf/vmlinux ── base of ──> /sys/kernel/btf/ext4: only the module's own types
//
// A DebugRef is BTF's number for a type. The types that a module shares with the kernel
// belong to the base (see owner()). BTF has no addresses, and usually no variables
// except per-CPU variables.
// The data are untrusted. libbpf checks that the sections are complete. This class
// converts an invalid type number to void, and an invalid offset of a name to an empty
// name.
#pragma once

#include "libdtrace/symbols/debug/debug_types.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <unordered_map>

struct btf;
struct btf_type;

namespace dt {

class BtfTypes final : public DebugTypes {
public:
    // Opens a BTF file. `base` is null for the kernel proper, and otherwise must
    // outlive the result. Place::Process means that the types describe data that
    // programs pass to the kernel. Errors: Code::not_found, or Code::corrupt if libbpf
    // refuses the file.
    static Result<std::unique_ptr<BtfTypes>> open(const std::string& path,
                                                  BtfTypes* base = nullptr,
                                                  Place place = Place::Kernel);
    static Result<std::unique_ptr<BtfTypes>> from(std::span<const std::byte> bytes,
                                                  Place place = Place::Kernel);
    ~BtfTypes() override;

    Place place() const override { return place_; }
    std::pair<DebugTypes*, DebugRef> owner(DebugRef ref) override;
    // Searches this file's own types, then those of its base.
    std::optional<DebugRef> find(Kind kind, std::string_view name) override;
    std::optional<DebugVariable> find_variable(std::string_view name) override;
    std::optional<std::int64_t> find_enumerator(std::string_view name) override;
    std::optional<DebugFunction> function_at(std::uint64_t addr) override;
    DebugType type(DebugRef ref) override;
    std::vector<std::string_view> names(Kind kind) override;

    std::optional<DebugFunction> function_named(std::string_view name);
    // Returns the parameters and the result type of a prototype. Follows pointers and
    // typedefs to the prototype.
    std::optional<DebugFunction> function_of(DebugRef ref);

private:
    struct End {
        void operator()(btf* data) const;
    };
    using Names = std::unordered_map<std::string_view, DebugRef>;

    BtfTypes(btf* data, BtfTypes* base, Place place);
    static Result<std::unique_ptr<BtfTypes>> made(btf* data, const std::string& of,
                                                  BtfTypes* base, Place place);
    const btf_type* entry(DebugRef ref) const;
    std::string_view text(std::uint32_t offset) const;
    void build_index();
    void build_enumerators();
    Names* names_of(Kind kind);
    void fill_integer(const btf_type* entry, DebugType& into) const;
    void fill_members(const btf_type* entry, DebugType& into) const;
    void fill_enumerators(const btf_type* entry, DebugType& into) const;
    void each_enumerator(
        const btf_type* entry,
        const std::function<void(std::string_view, std::int64_t)>& visit) const;

    std::unique_ptr<btf, End> data_;
    BtfTypes* base_ = nullptr;
    Place place_ = Place::Kernel;
    DebugRef first_ = 1, end_ = 1; // the file's own types are [first_, end_)
    bool indexed_ = false, enumerated_ = false;
    // Whether the data record which enumerations are signed. The BTF of older kernels
    // does not record this.
    bool says_signs_ = false;
    Names ordinary_, structs_, unions_, enums_, functions_, variables_;
    std::unordered_map<DebugRef, bool> per_cpu_;
    std::unordered_map<std::string_view, std::int64_t> enumerators_;
};

} // namespace dt
