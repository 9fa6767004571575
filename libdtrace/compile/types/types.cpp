// SPDX-License-Identifier: MIT
// The type table. It has one object for each type.
//
//   names    "int", "uint8_t"           -> intrinsic types and typedefs
//   tags     "struct foo", "union foo"    -> each keyword has a name space of its own,
//                                          as in classic DTrace
//   derived  (kind, base, ...)          -> pointers, arrays, functions, qualified types
//
// A struct that has been named but not defined is a Struct with complete == false. Its
// body is filled in place, so that existing pointers to the struct stay valid.
// rollback() reverts the changes in `undo` in reverse order.
#include "libdtrace/compile/types/types.hpp"

#include "libdtrace/compile/types/types_predefined.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace dt {

namespace {

using Names = std::unordered_map<std::string, Type*>;

// One change to the table. There are four kinds of change:
//   names, key          `key` was added to the map `names`
//   names, key, type    the value of `key` in the map `names` was replaced; `type` is
//                       the old value
//   type, before        the body of `type` was filled in; `before` is an earlier copy
//   key                 `key` is the name of a new enumerator
struct Undo {
    Names* names = nullptr;
    std::string key;
    Type* type = nullptr;
    std::unique_ptr<Type> before;
};

struct FoundEnumerator {
    const Type* in = nullptr;
    std::size_t index = 0;
};

bool is_tag(TypeKind kind)
{
    return kind == TypeKind::Struct || kind == TypeKind::Union ||
           kind == TypeKind::Enum;
}

std::string_view trim(std::string_view text)
{
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

std::string_view take_word(std::string_view& text)
{
    text = trim(text);
    std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

// Returns the canonical name of an integer type. For example, returns "unsigned long"
// for "long unsigned int". Returns an empty string if a word cannot be part of an
// integer type.
std::string canonical_integer(std::string_view text)
{
    int longs = 0;
    bool is_short = false, is_unsigned = false, is_signed = false, is_char = false;
    while (!trim(text).empty()) {
        std::string_view word = take_word(text);
        if (word == "long")
            ++longs;
        else if (word == "short")
            is_short = true;
        else if (word == "unsigned")
            is_unsigned = true;
        else if (word == "signed")
            is_signed = true;
        else if (word == "char")
            is_char = true;
        else if (word != "int")
            return {};
    }
    if (is_char)
        return is_unsigned ? "unsigned char" : is_signed ? "signed char" : "char";
    std::string name = is_unsigned ? "unsigned " : "";
    return name + (is_short     ? "short"
                   : longs >= 2 ? "long long"
                   : longs == 1 ? "long"
                                : "int");
}

} // namespace

struct TypeTable::Impl {
    std::deque<Type> storage;
    Names names, tags;
    Names first_names, first_tags; // types that redeclare() has replaced
    std::unordered_map<std::string, FoundEnumerator> enumerators;
    std::vector<Undo> undo;
    std::unordered_set<const Type*> fresh; // types that were declared since mark()
    std::map<std::pair<const Type*, bool>, Type*> pointers;
    std::map<std::tuple<const Type*, std::uint64_t, bool>, Type*> arrays;
    std::map<std::tuple<const Type*, std::vector<const Type*>, bool>, Type*> functions;
    std::map<std::tuple<const Type*, bool, bool, bool>, Type*> qualified;
    Type* string = nullptr;
    Type* stack = nullptr;
    Type* symaddr = nullptr;
    Type* usymaddr = nullptr;
    Type* dynamic = nullptr;

    Type* make(TypeKind kind, std::string_view name)
    {
        Type& type = storage.emplace_back();
        type.kind = kind;
        type.name = name;
        return &type;
    }

    Type* special(TypeKind kind, std::string_view name, std::uint64_t size)
    {
        Type* type = make(kind, name);
        type->size = size;
        type->align = kind == TypeKind::String ? 1 : 8;
        return type;
    }

    void add_name(Names& into, std::string key, Type* type)
    {
        undo.push_back({&into, key, nullptr, nullptr});
        into.emplace(std::move(key), type);
    }

    const Type* find(const Names& in, std::string_view name) const
    {
        auto found = in.find(std::string(name));
        return found == in.end() ? nullptr : found->second;
    }

    const Type* find_base(std::string_view name, bool original) const;
};

const Type* TypeTable::Impl::find_base(std::string_view name, bool original) const
{
    std::string_view rest = name;
    std::string_view word = take_word(rest);
    if (word == "const" || word == "volatile")
        return find_base(trim(rest), original);
    if (word == "struct" || word == "union" || word == "enum") {
        const std::string key = std::string(word) + " " + std::string(trim(rest));
        const Type* tag = original ? find(first_tags, key) : nullptr;
        return tag != nullptr ? tag : find(tags, key);
    }
    const Type* first = original ? find(first_names, name) : nullptr;
    if (const Type* type = first != nullptr ? first : find(names, name))
        return type;
    std::string integer = canonical_integer(name);
    return integer.empty() ? nullptr : find(names, integer);
}

TypeTable::TypeTable(std::uint64_t strsize) : impl_(std::make_unique<Impl>())
{
    auto intrinsic = [this](const char* name, TypeKind kind, std::uint64_t size) {
        Type* type = impl_->make(kind, name);
        type->size = size;
        type->align = size == 0 ? 1 : static_cast<std::uint32_t>(size);
        impl_->names.emplace(name, type);
        return type;
    };
#define X(text, k, bytes, sign, character, boolean)                                    \
    {                                                                                  \
        Type* type = intrinsic(text, TypeKind::k, bytes);                              \
        type->is_signed = sign;                                                        \
        type->is_char = character;                                                     \
        type->is_bool = boolean;                                                       \
    }
    D_INTRINSIC_TYPES(X)
#undef X
    impl_->string = impl_->special(TypeKind::String, "string", strsize);
    impl_->names.emplace("string", impl_->string);
    // Programs cannot name these types. A symaddr is recorded as an address, and a
    // usymaddr as a pid and an address.
    impl_->stack = impl_->special(TypeKind::Stack, "stack", 8);
    impl_->symaddr = impl_->special(TypeKind::SymAddr, "_symaddr", 8);
    impl_->usymaddr = impl_->special(TypeKind::UsymAddr, "_usymaddr", 16);
    impl_->dynamic = impl_->special(TypeKind::Dynamic, "<DYN>", 0);
    declare_predefined_types(*this);
    impl_->undo.clear();
    impl_->fresh.clear();
}

TypeTable::~TypeTable() = default;

const Type* TypeTable::void_type() const
{
    return impl_->find(impl_->names, "void");
}

const Type* TypeTable::int_type() const
{
    return impl_->find(impl_->names, "int");
}

const Type* TypeTable::int64_type() const
{
    return lookup_original("int64_t");
}

const Type* TypeTable::uint64_type() const
{
    return lookup_original("uint64_t");
}

const Type* TypeTable::string_type() const
{
    return impl_->string;
}

const Type* TypeTable::stack_type() const
{
    return impl_->stack;
}

const Type* TypeTable::symaddr_type() const
{
    return impl_->symaddr;
}

const Type* TypeTable::usymaddr_type() const
{
    return impl_->usymaddr;
}

const Type* TypeTable::dynamic_type() const
{
    return impl_->dynamic;
}

const Type* TypeTable::pointer_to(const Type* base, bool userland)
{
    Type*& slot = impl_->pointers[{base, userland}];
    if (slot == nullptr) {
        slot = impl_->make(TypeKind::Pointer, "");
        slot->base = base;
        slot->userland = userland;
        slot->size = slot->align = 8;
    }
    return slot;
}

const Type* TypeTable::array_of(const Type* base, std::uint64_t count, bool complete)
{
    Type*& slot = impl_->arrays[{base, count, complete}];
    if (slot == nullptr) {
        slot = impl_->make(TypeKind::Array, "");
        slot->base = base;
        slot->count = count;
        slot->complete = complete;
        slot->size = base->resolve()->size * count;
        slot->align = base->alignment();
        slot->userland = base->userland;
    }
    return slot;
}

const Type* TypeTable::function_of(const Type* result,
                                   std::vector<const Type*> parameters, bool varargs)
{
    Type*& slot = impl_->functions[{result, parameters, varargs}];
    if (slot == nullptr) {
        slot = impl_->make(TypeKind::Function, "");
        slot->base = result;
        slot->parameters = std::move(parameters);
        slot->varargs = varargs;
    }
    return slot;
}

const Type* TypeTable::qualified(const Type* base, bool is_const, bool is_volatile,
                                 bool userland)
{
    if (!is_const && !is_volatile && !userland)
        return base;
    if (base->kind == TypeKind::Pointer && userland && !is_const && !is_volatile)
        return pointer_to(base->base, true);
    Type*& slot = impl_->qualified[{base, is_const, is_volatile, userland}];
    if (slot == nullptr) {
        slot = impl_->make(TypeKind::Typedef, "");
        slot->base = base;
        slot->resolved = base->resolve();
        slot->is_const = is_const;
        slot->is_volatile = is_volatile;
        slot->userland = userland;
        slot->size = base->size;
        slot->align = base->align;
        slot->own_align = base->own_align;
    }
    return slot;
}

const Type* TypeTable::find_text(std::string_view name, bool original) const
{
    name = trim(name);
    std::size_t stars = 0;
    while (!name.empty() && (name.back() == '*' || name.back() == ' ')) {
        stars += name.back() == '*';
        name.remove_suffix(1);
    }
    const Type* type = name.empty() ? nullptr : impl_->find_base(name, original);
    // The const_cast is safe, because pointer_to() changes only a cache of the table.
    for (; type != nullptr && stars > 0; --stars)
        type = const_cast<TypeTable*>(this)->pointer_to(type);
    return type;
}

const Type* TypeTable::lookup(std::string_view name) const
{
    return find_text(name, false);
}

const Type* TypeTable::lookup_original(std::string_view name) const
{
    return find_text(name, true);
}

// Returns the key under which a name is stored.
static std::string key_of(TypeKind kind, std::string_view name)
{
    const char* keyword = kind == TypeKind::Struct  ? "struct "
                          : kind == TypeKind::Union ? "union "
                          : kind == TypeKind::Enum  ? "enum "
                                                    : "";
    return keyword + std::string(name);
}

Type* TypeTable::declare(TypeKind kind, std::string_view name)
{
    Names& names = is_tag(kind) ? impl_->tags : impl_->names;
    std::string key = key_of(kind, name);
    auto found = names.find(key);
    if (found == names.end()) {
        Type* type = impl_->make(kind, name);
        type->complete = false;
        impl_->fresh.insert(type);
        impl_->add_name(names, std::move(key), type);
        return type;
    }
    Type* type = found->second;
    if (type->kind != kind)
        return nullptr;
    if (!type->complete)
        impl_->undo.push_back({nullptr, {}, type, std::make_unique<Type>(*type)});
    return type;
}

Type* TypeTable::redeclare(TypeKind kind, std::string_view name)
{
    Names& names = is_tag(kind) ? impl_->tags : impl_->names;
    auto found = names.find(key_of(kind, name));
    if (found == names.end() || is_fresh(found->second))
        return nullptr;
    impl_->undo.push_back({&names, found->first, found->second, nullptr});
    (is_tag(kind) ? impl_->first_tags : impl_->first_names)
        .emplace(found->first, found->second);
    found->second = impl_->make(kind, name);
    found->second->complete = false;
    impl_->fresh.insert(found->second);
    return found->second;
}

bool TypeTable::is_fresh(const Type* type) const
{
    return impl_->fresh.contains(type);
}

Type* TypeTable::anonymous(TypeKind kind)
{
    Type* type = impl_->make(kind, "");
    type->complete = false;
    impl_->fresh.insert(type);
    return type;
}

const Enumerator* TypeTable::find_enumerator(std::string_view name,
                                             const Type*& in) const
{
    auto found = impl_->enumerators.find(std::string(name));
    if (found == impl_->enumerators.end())
        return nullptr;
    in = found->second.in;
    return &in->enumerators[found->second.index];
}

void TypeTable::add_enumerator_scope(const Type* enumeration)
{
    for (std::size_t i = 0; i < enumeration->enumerators.size(); ++i) {
        const std::string& name = enumeration->enumerators[i].name;
        if (impl_->enumerators.emplace(name, FoundEnumerator{enumeration, i}).second) {
            impl_->undo.push_back({nullptr, name, nullptr, nullptr});
        }
    }
}

void TypeTable::set_strsize(std::uint64_t strsize)
{
    impl_->string->size = strsize;
}

std::size_t TypeTable::mark()
{
    impl_->fresh.clear();
    return impl_->undo.size();
}

void TypeTable::rollback(std::size_t mark)
{
    while (impl_->undo.size() > mark) {
        Undo& last = impl_->undo.back();
        if (last.names != nullptr && last.type != nullptr)
            (*last.names)[last.key] = last.type;
        else if (last.names != nullptr)
            last.names->erase(last.key);
        else if (last.type != nullptr)
            *last.type = std::move(*last.before);
        else
            impl_->enumerators.erase(last.key);
        impl_->undo.pop_back();
    }
}

} // namespace dt
