// SPDX-License-Identifier: MIT
// What the kernel's BTF says: types, the parameters of functions, variables of each CPU.
//
//   /sys/kernel/btf/vmlinux ── base of ──> /sys/kernel/btf/ext4: only what is its own
//
// A DebugRef is BTF's number of a type. What a module shares with the kernel proper is the
// base's: owner() says whose a number is, so that a type is made once. Pointers lead to
// the kernel, if nothing else is said. BTF has no addresses, and no variables but those in a
// section that it describes: on most kernels the per-CPU ones.
//
// The data is untrusted: libbpf checks that the sections are whole; numbers and names are
// requested one by one here, and what is not there is void or nameless.
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
    // base outlives it; null: of a kernel proper. Place::Process: of what programs give to
    // the kernel. not_found: there is no such file; corrupt: libbpf refuses it.
    static Result<std::unique_ptr<BtfTypes>> open(const std::string& path,
                                                  BtfTypes* base = nullptr,
                                                  Place place = Place::Kernel);
    static Result<std::unique_ptr<BtfTypes>> from(std::span<const std::byte> bytes,
                                                  Place place = Place::Kernel);
    ~BtfTypes() override;

    Place place() const override { return place_; }
    std::pair<DebugTypes*, DebugRef> owner(DebugRef ref) override;
    // Of its own, else of its base.
    std::optional<DebugRef> find(Kind kind, std::string_view name) override;
    std::optional<DebugVariable> find_variable(std::string_view name) override;
    std::optional<std::int64_t> find_enumerator(std::string_view name) override;
    std::optional<DebugFunction> function_at(std::uint64_t addr) override;
    DebugType type(DebugRef ref) override;
    std::vector<std::string_view> names(Kind kind) override;

    std::optional<DebugFunction> function_named(std::string_view name);
    // Of a type that is, or leads to, the prototype of a function.
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
    DebugRef first_ = 1, end_ = 1; // of its own
    bool indexed_ = false, enumerated_ = false;
    bool says_signs_ =
        false; // enumerations of older kernels do not say whether they have one
    Names ordinary_, structs_, unions_, enums_, functions_, variables_;
    std::unordered_map<DebugRef, bool> per_cpu_;
    std::unordered_map<std::string_view, std::int64_t> enumerators_;
};

} // namespace dt
