// SPDX-License-Identifier: MIT
// Opens BTF through libbpf and finds names. btf_type.cpp reads the entries.
#include "libdtrace/symbols/debug/btf_types.hpp"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cerrno>

namespace dt {

void BtfTypes::End::operator()(btf* data) const
{
    btf__free(data);
}

// Suppresses libbpf's messages on stderr.
static void silence()
{
    [[maybe_unused]] static const auto before = libbpf_set_print(nullptr);
}

Result<std::unique_ptr<BtfTypes>> BtfTypes::made(btf* data, const std::string& of,
                                                 BtfTypes* base, Place place)
{
    const int error = errno;
    if (data == nullptr && (error == ENOENT || error == EACCES || error == EPERM))
        return errno_error("read the types of " + of, error);
    if (data == nullptr)
        return Error{Code::corrupt, of + " is not BTF that libbpf can read", error};
    return std::unique_ptr<BtfTypes>(new BtfTypes(data, base, place));
}

Result<std::unique_ptr<BtfTypes>> BtfTypes::open(const std::string& path,
                                                 BtfTypes* base, Place place)
{
    silence();
    errno = 0;
    return made(base == nullptr ? btf__parse_raw(path.c_str())
                                : btf__parse_raw_split(path.c_str(), base->data_.get()),
                path, base, place);
}

Result<std::unique_ptr<BtfTypes>> BtfTypes::from(std::span<const std::byte> bytes,
                                                 Place place)
{
    silence();
    errno = 0;
    if (bytes.size() > UINT32_MAX)
        return Error{Code::limit, "the type data is too long", 0};
    return made(btf__new(bytes.data(), static_cast<std::uint32_t>(bytes.size())),
                "the type data", nullptr, place);
}

BtfTypes::BtfTypes(btf* data, BtfTypes* base, Place place)
    : data_(data), base_(base), place_(place)
{
    if (base_ != nullptr)
        first_ = base_->end_;
    end_ = btf__type_cnt(data);
}

BtfTypes::~BtfTypes() = default;

const btf_type* BtfTypes::entry(DebugRef ref) const
{
    return ref != 0 && ref < end_ ? btf__type_by_id(data_.get(), ref) : nullptr;
}

std::string_view BtfTypes::text(std::uint32_t offset) const
{
    const char* found = btf__str_by_offset(data_.get(), offset);
    return found != nullptr ? found : "";
}

std::pair<DebugTypes*, DebugRef> BtfTypes::owner(DebugRef ref)
{
    if (base_ != nullptr && ref < first_)
        return base_->owner(ref);
    return {this, ref};
}

// Records the entry of each name. The first definition of a name takes precedence.
void BtfTypes::build_index()
{
    if (indexed_)
        return;
    indexed_ = true;
    functions_.reserve((end_ - first_) / 2);
    Names declared_structs, declared_unions;
    for (DebugRef ref = first_; ref < end_; ref++) {
        const btf_type* type = entry(ref);
        if (type == nullptr)
            break;
        Names* into = nullptr;
        switch (btf_kind(type)) {
        case BTF_KIND_INT:
        case BTF_KIND_FLOAT:
        case BTF_KIND_TYPEDEF:
            into = &ordinary_;
            break;
        case BTF_KIND_STRUCT:
            into = &structs_;
            break;
        case BTF_KIND_UNION:
            into = &unions_;
            break;
        case BTF_KIND_FWD:
            into = btf_kflag(type) ? &declared_unions : &declared_structs;
            break;
        case BTF_KIND_ENUM:
        case BTF_KIND_ENUM64:
            says_signs_ |= btf_kind(type) == BTF_KIND_ENUM64 || btf_kflag(type);
            into = &enums_;
            break;
        case BTF_KIND_FUNC:
            into = &functions_;
            break;
        case BTF_KIND_VAR:
            into = &variables_;
            break;
        case BTF_KIND_DATASEC:
            if (text(type->name_off) == ".data..percpu")
                for (int i = 0; i < btf_vlen(type); i++)
                    per_cpu_[btf_var_secinfos(type)[i].type] = true;
            break;
        default:
            break;
        }
        std::string_view name =
            into != nullptr ? text(type->name_off) : std::string_view();
        if (!name.empty())
            into->try_emplace(name, ref);
    }
    structs_.merge(declared_structs);
    unions_.merge(declared_unions);
    if (base_ != nullptr && !says_signs_) {
        base_->build_index();
        says_signs_ = base_->says_signs_;
    }
}

BtfTypes::Names* BtfTypes::names_of(Kind kind)
{
    build_index();
    switch (kind) {
    case Kind::Struct:
        return &structs_;
    case Kind::Union:
        return &unions_;
    case Kind::Enum:
        return &enums_;
    case Kind::Ordinary:
        break;
    }
    return &ordinary_;
}

std::optional<DebugRef> BtfTypes::find(Kind kind, std::string_view name)
{
    const Names* names = names_of(kind);
    if (auto found = names->find(name); found != names->end())
        return found->second;
    return base_ != nullptr ? base_->find(kind, name) : std::nullopt;
}

std::optional<DebugVariable> BtfTypes::find_variable(std::string_view name)
{
    build_index();
    auto found = variables_.find(name);
    if (found == variables_.end())
        return std::nullopt;
    DebugVariable variable;
    variable.type = entry(found->second)->type;
    variable.per_cpu = per_cpu_.contains(found->second);
    if (variable.type == 0)
        return std::nullopt;
    return variable;
}

void BtfTypes::build_enumerators()
{
    if (enumerated_)
        return;
    enumerated_ = true;
    build_index();
    for (DebugRef ref = first_; ref < end_; ref++)
        if (const btf_type* type = entry(ref);
            type != nullptr && (btf_is_enum(type) || btf_is_enum64(type)))
            each_enumerator(type, [this](std::string_view name, std::int64_t value) {
                enumerators_.try_emplace(name, value);
            });
}

std::optional<std::int64_t> BtfTypes::find_enumerator(std::string_view name)
{
    build_enumerators();
    if (auto found = enumerators_.find(name); found != enumerators_.end())
        return found->second;
    return base_ != nullptr ? base_->find_enumerator(name) : std::nullopt;
}

// Returns nullopt, because BTF has no addresses.
std::optional<DebugFunction> BtfTypes::function_at(std::uint64_t)
{
    return std::nullopt;
}

std::optional<DebugFunction> BtfTypes::function_named(std::string_view name)
{
    build_index();
    auto found = functions_.find(name);
    return found != functions_.end() ? function_of(found->second) : std::nullopt;
}

std::vector<std::string_view> BtfTypes::names(Kind kind)
{
    std::vector<std::string_view> all;
    for (const auto& [name, ref] : *names_of(kind))
        all.push_back(name);
    return all;
}

} // namespace dt
