// SPDX-License-Identifier: MIT
// DWARF through libdw. Units are walked at their top level and into namespaces; an entry
// becomes a DebugType when it is asked for. See the DWARF 5 standard, chapter 5 for types,
// 3.3 for functions.
#include "libdtrace/symbols/debug_types.hpp"

#include "base/fd.hpp"
#include "libdtrace/symbols/class_passing.hpp"
#include "libdtrace/symbols/dwarf_entry.hpp"
#include "libdtrace/symbols/zero_ended.hpp"

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unordered_map>

namespace dt {

namespace {

constexpr int max_namespaces = 64; // one in another
constexpr std::size_t max_members = 1 << 16;

// Until DWARF 4 a location may be an expression: "add so many bytes".
std::uint64_t member_bytes(Dwarf_Die* die)
{
    if (auto plain = number(die, DW_AT_data_member_location))
        return *plain;
    Dwarf_Attribute found;
    Dwarf_Op* ops = nullptr;
    std::size_t n_ops = 0;
    if (dwarf_attr_integrate(die, DW_AT_data_member_location, &found) != nullptr &&
        dwarf_getlocation(&found, &ops, &n_ops) == 0 && n_ops == 1 &&
        ops[0].atom == DW_OP_plus_uconst)
        return ops[0].number;
    return 0;
}

// Where a struct's name needs no keyword. A unit that says no language may be a part of such
// a one.
bool names_its_tags(Dwarf_Die* unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_ObjC:
    case DW_LANG_UPC:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

// Languages whose functions take their arguments elsewhere than C's do.
bool has_own_convention(int language)
{
    constexpr int swift = 0x1e;
    return language == DW_LANG_Go || language == swift || language == DW_LANG_OCaml ||
           language == DW_LANG_Haskell || language == DW_LANG_D;
}

struct IndexKey {
    int kind = 0; // DebugTypes::Kind, or one of those below
    std::string_view name;
    bool operator==(const IndexKey&) const = default;
};

constexpr int variable_kind = 8, enumerator_kind = 9;

struct IndexHash {
    std::size_t operator()(const IndexKey& key) const
    {
        return std::hash<std::string_view>()(key.name) * 31 +
               static_cast<std::size_t>(key.kind);
    }
};

struct Indexed {
    Dwarf_Die die{};
    int depth = 0; // of namespaces
};

} // namespace

struct DebugTypes::State {
    struct End {
        void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
        void operator()(Elf* elf) const { elf_end(elf); }
    };
    Fd file;
    std::list<std::vector<char>> zero_ended;
    std::unique_ptr<Elf, End> elf;
    std::unique_ptr<Dwarf, End> dwarf;

    std::vector<Dwarf_Die> entries; // by DebugRef - 1
    std::unordered_map<const void*, DebugRef> refs;
    ClassPassing class_passing;

    bool indexed = false;
    std::unordered_map<IndexKey, Indexed, IndexHash> index;

    // Where units have code, and what begins where in those that were asked for.
    struct Range {
        std::uint64_t begin = 0, end = 0;
        Dwarf_Die unit{};
    };
    bool ranged = false;
    std::vector<Range> ranges;
    std::unordered_map<const void*, std::unordered_map<std::uint64_t, Dwarf_Die>>
        functions;

    DebugRef ref(const Dwarf_Die& die);
    DebugRef type_of(Dwarf_Die* die);
    template <class F> static void for_units(Dwarf* dwarf, F visit);
    void build_index();
    void index_entries(Dwarf_Die* parent, bool cxx, int depth);
    // The name leads to the entry, or to `what`.
    void add(int kind, Dwarf_Die* die, int depth, Dwarf_Die* what = nullptr);
    void build_ranges();
    void collect_functions(Dwarf_Die* parent, int depth,
                           std::unordered_map<std::uint64_t, Dwarf_Die>& into);

    void fill_base(Dwarf_Die* die, DebugType& into);
    void fill_members(Dwarf_Die* die, DebugType& into);
    static void fill_vector(Dwarf_Die* die, DebugType& into);
    void fill_enumerators(Dwarf_Die* die, DebugType& into);
    void fill_function(Dwarf_Die* die, DebugType& into);
    bool member(Dwarf_Die* die, DebugType& into);
};

Result<std::unique_ptr<DebugTypes>> DebugTypes::open(int fd)
{
    auto state = std::make_unique<State>();
    state->file = Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!state->file)
        return errno_error("open debug data");
    elf_version(EV_CURRENT);
    state->elf.reset(elf_begin(state->file.get(), ELF_C_READ, nullptr));
    state->zero_ended = end_debug_sections_with_zero(state->elf.get());
    state->dwarf.reset(dwarf_begin_elf(state->elf.get(), DWARF_C_READ, nullptr));
    if (!state->dwarf) {
        int number = dwarf_errno();
        const char* why = dwarf_errmsg(number);
        return Error{
            Code::corrupt,
            std::string("debug data: ") + (why != nullptr ? why : "unreadable"), 0};
    }
    return std::unique_ptr<DebugTypes>(new DebugTypes(std::move(state)));
}

DebugTypes::DebugTypes(std::unique_ptr<State> state) : state_(std::move(state)) {}
DebugTypes::~DebugTypes() = default;

DebugRef DebugTypes::State::ref(const Dwarf_Die& die)
{
    auto [at, is_new] = refs.try_emplace(die.addr, 0);
    if (is_new) {
        entries.push_back(die);
        at->second = static_cast<DebugRef>(entries.size());
    }
    return at->second;
}

DebugRef DebugTypes::State::type_of(Dwarf_Die* die)
{
    Dwarf_Die type;
    return entry_at(die, DW_AT_type, type) ? ref(type) : 0;
}

// A split-off unit (.dwo) goes for the one that it is split off from. Type units that are split
// off too are not found: libdw reads one section of a kind.
template <class F> void DebugTypes::State::for_units(Dwarf* dwarf, F visit)
{
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die, split;
    std::uint8_t type = 0;
    while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, &split) == 0) {
        bool elsewhere = type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid;
        visit(elsewhere ? &split : &die);
    }
}

void DebugTypes::State::add(int kind, Dwarf_Die* die, int depth, Dwarf_Die* what)
{
    std::string_view name = name_of(die);
    if (name.empty())
        return;
    // What completes a declaration may stand outside of the namespace that it is of.
    Indexed entry{what != nullptr ? *what : *die,
                  depth + dwarf_hasattr(die, DW_AT_specification)};
    auto [at, is_new] = index.try_emplace({kind, name}, entry);
    if (!is_new && entry.depth < at->second.depth)
        at->second = entry;
}

void DebugTypes::State::index_entries(Dwarf_Die* parent, bool cxx, int depth)
{
    for_children(parent, [&](Dwarf_Die* die) {
        auto add_tag = [&](Kind kind) {
            if (dwarf_hasattr(die, DW_AT_declaration) != 0)
                return;
            add(static_cast<int>(kind), die, depth);
            if (cxx)
                add(static_cast<int>(Kind::Ordinary), die, depth);
        };
        switch (dwarf_tag(die)) {
        case DW_TAG_base_type:
        case DW_TAG_typedef:
        case DW_TAG_template_alias:
            add(static_cast<int>(Kind::Ordinary), die, depth);
            break;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            add_tag(Kind::Struct);
            if (depth < max_namespaces) // the types within; compilers nest C's, too
                index_entries(die, cxx, depth + 1);
            break;
        case DW_TAG_union_type:
            add_tag(Kind::Union);
            if (depth < max_namespaces)
                index_entries(die, cxx, depth + 1);
            break;
        case DW_TAG_enumeration_type:
            add_tag(Kind::Enum);
            // Its type comes along: whether the values have a sign.
            for_children(die, [&](Dwarf_Die* child) {
                if (dwarf_tag(child) == DW_TAG_enumerator)
                    add(enumerator_kind, child, depth, die);
                return true;
            });
            break;
        case DW_TAG_variable: {
            // What has a place goes before what only says that there is one. One that the
            // compiler did away with is none.
            bool placed = dwarf_hasattr(die, DW_AT_location) != 0;
            if (placed || dwarf_hasattr(die, DW_AT_declaration) != 0)
                add(variable_kind, die, placed ? depth : max_namespaces + 1);
            break;
        }
        case DW_TAG_namespace:
        case DW_TAG_module:
            if (depth < max_namespaces)
                index_entries(die, cxx, depth + 1);
            break;
        default:
            break;
        }
        return true;
    });
}

void DebugTypes::State::build_index()
{
    if (indexed)
        return;
    indexed = true;
    auto index_unit = [this](Dwarf_Die* unit) {
        index_entries(unit, names_its_tags(unit), 0);
    };
    for_units(dwarf.get(), index_unit);
    if (Dwarf* shared = dwarf_getalt(dwarf.get()); shared != nullptr)
        for_units(shared, index_unit);
}

std::optional<DebugRef> DebugTypes::find(Kind kind, std::string_view name)
{
    state_->build_index();
    auto found = state_->index.find({static_cast<int>(kind), name});
    if (found == state_->index.end())
        return std::nullopt;
    return state_->ref(found->second.die);
}

static std::optional<std::uint64_t> address_of(Dwarf_Die* variable)
{
    Dwarf_Attribute location, indexed;
    Dwarf_Op* ops = nullptr;
    std::size_t n_ops = 0;
    Dwarf_Addr addr = 0;
    if (dwarf_attr_integrate(variable, DW_AT_location, &location) == nullptr ||
        dwarf_getlocation(&location, &ops, &n_ops) != 0 || n_ops != 1)
        return std::nullopt;
    if (ops[0].atom == DW_OP_addr)
        return ops[0].number;
    if ((ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) &&
        dwarf_getlocation_attr(&location, ops, &indexed) == 0 &&
        dwarf_formaddr(&indexed, &addr) == 0)
        return addr;
    return std::nullopt;
}

std::optional<DebugVariable> DebugTypes::find_variable(std::string_view name)
{
    state_->build_index();
    auto found = state_->index.find({variable_kind, name});
    if (found == state_->index.end())
        return std::nullopt;
    Dwarf_Die* die = &found->second.die;
    DebugVariable variable{state_->type_of(die), std::nullopt};
    if (variable.type == 0)
        return std::nullopt;
    variable.addr = address_of(die);
    return variable;
}

std::optional<std::int64_t> DebugTypes::find_enumerator(std::string_view name)
{
    state_->build_index();
    auto found = state_->index.find({enumerator_kind, name});
    if (found == state_->index.end())
        return std::nullopt;
    for (const auto& [known, value] : type(state_->ref(found->second.die)).enumerators)
        if (known == name)
            return value;
    return std::nullopt;
}

std::vector<std::string_view> DebugTypes::names(Kind kind)
{
    state_->build_index();
    std::vector<std::string_view> all;
    for (const auto& [key, entry] : state_->index)
        if (key.kind == static_cast<int>(kind))
            all.push_back(key.name);
    return all;
}

void DebugTypes::State::build_ranges()
{
    if (ranged)
        return;
    ranged = true;
    for_units(dwarf.get(), [this](Dwarf_Die* unit) {
        Dwarf_Addr base = 0, begin = 0, end = 0;
        for (std::ptrdiff_t at = 0;
             (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;)
            ranges.push_back({begin, end, *unit});
    });
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

void DebugTypes::State::collect_functions(
    Dwarf_Die* parent, int depth, std::unordered_map<std::uint64_t, Dwarf_Die>& into)
{
    for_children(parent, [&](Dwarf_Die* die) {
        Dwarf_Addr begin = 0;
        switch (dwarf_tag(die)) {
        case DW_TAG_subprogram:
            if (dwarf_entrypc(die, &begin) == 0)
                into.try_emplace(begin, *die);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            if (depth < max_namespaces)
                collect_functions(die, depth + 1, into);
            break;
        default:
            break;
        }
        return true;
    });
}

std::optional<DebugFunction> DebugTypes::function_at(std::uint64_t addr)
{
    State& state = *state_;
    state.build_ranges();
    auto after = std::upper_bound(
        state.ranges.begin(), state.ranges.end(), addr,
        [](std::uint64_t at, const State::Range& range) { return at < range.begin; });
    // Ranges do not overlap but in data that lies.
    if (after == state.ranges.begin() || addr >= std::prev(after)->end)
        return std::nullopt;
    Dwarf_Die unit = std::prev(after)->unit;
    auto [functions, is_new] = state.functions.try_emplace(unit.addr);
    if (is_new)
        state.collect_functions(&unit, 0, functions->second);
    auto found = functions->second.find(addr);
    if (found == functions->second.end())
        return std::nullopt;

    Dwarf_Die* die = &found->second;
    DebugFunction function;
    function.result = state.type_of(die);
    function.own_convention =
        number(die, DW_AT_calling_convention).value_or(DW_CC_normal) != DW_CC_normal ||
        has_own_convention(language_of(die));
    for_children(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_formal_parameter)
            function.parameters.push_back(
                {std::string(name_of(child)), state.type_of(child)});
        if (dwarf_tag(child) == DW_TAG_unspecified_parameters)
            function.varargs = true;
        return function.parameters.size() < max_members;
    });
    return function;
}

static void fill_opaque(std::uint64_t encoding, DebugType& into)
{
    const bool is_complex =
        encoding == DW_ATE_complex_float || encoding == DW_ATE_imaginary_float;
    const bool is_float = encoding == DW_ATE_float || encoding == DW_ATE_decimal_float;
    into.align = is_complex ? into.bytes / 2 : into.bytes;
    into.passing = Passing::IntegerWords;
    if (is_float || (is_complex && into.bytes <= 8))
        into.passing = Passing::FloatRegister;
    else if (is_complex && into.bytes == 16)
        into.passing = Passing::FloatWords;
    else if (is_complex && into.name.find("128") == std::string::npos)
        into.passing = Passing::X87;
}

void DebugTypes::State::fill_base(Dwarf_Die* die, DebugType& into)
{
    using Kind = DebugType::Kind;
    const std::uint64_t encoding = number(die, DW_AT_encoding).value_or(0);
    switch (encoding) {
    case DW_ATE_boolean:
        into.kind = Kind::Bool;
        break;
    case DW_ATE_signed:
        into.kind = Kind::Integer;
        into.is_signed = true;
        break;
    case DW_ATE_address:
    case DW_ATE_unsigned:
        into.kind = Kind::Integer;
        break;
    case DW_ATE_signed_char:
        into.kind = Kind::Character;
        into.is_signed = true;
        break;
    case DW_ATE_unsigned_char:
        into.kind = Kind::Character;
        break;
    case DW_ATE_UTF:
        into.kind = into.bytes == 1 ? Kind::Character : Kind::Integer;
        break;
    case DW_ATE_float:
        into.kind = Kind::Float;
        break;
    default:
        into.kind = Kind::Opaque;
        break;
    }
    bool fits =
        into.kind == Kind::Float
            ? into.bytes == 4 || into.bytes == 8 || into.bytes == 16
            : into.bytes == 1 || into.bytes == 2 || into.bytes == 4 || into.bytes == 8;
    if (!fits || into.name.starts_with("_Float128") || into.name == "__float128")
        into.kind = Kind::Opaque;
    if (into.kind == Kind::Opaque)
        fill_opaque(encoding, into);
}

static std::vector<std::optional<std::uint64_t>> dimensions_of(Dwarf_Die* die)
{
    std::vector<std::optional<std::uint64_t>> counts;
    for_children(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_subrange_type) {
            auto count = number(child, DW_AT_count);
            if (!count) {
                count = number(child, DW_AT_upper_bound);
                // "unsigned, all ones" is how some say that there is none.
                if (count && static_cast<std::uint32_t>(*count) == UINT32_MAX)
                    count = std::nullopt;
                else if (count)
                    ++*count;
            }
            counts.push_back(count);
        } else if (dwarf_tag(child) == DW_TAG_enumeration_type) {
            counts.emplace_back(std::nullopt);
        }
        return counts.size() < max_members;
    });
    if (counts.empty())
        counts.emplace_back(std::nullopt);
    return counts;
}

// Its elements are of no use in D. Wider ones depend on what the compiler may use.
void DebugTypes::State::fill_vector(Dwarf_Die* die, DebugType& into)
{
    Dwarf_Die element;
    std::uint64_t bytes = into.bytes;
    if (bytes == 0 && into.counts.size() == 1 && plain_type(die, element))
        bytes = into.counts.front().value_or(0) *
                number(&element, DW_AT_byte_size).value_or(0);
    into = {};
    into.kind = DebugType::Kind::Opaque;
    into.bytes = into.align = bytes;
    into.passing =
        bytes == 8 || bytes == 16 ? Passing::FloatRegister : Passing::Unknown;
}

bool DebugTypes::State::member(Dwarf_Die* die, DebugType& into)
{
    DebugMember member;
    member.name = name_of(die);
    member.type = type_of(die);
    auto bits = number(die, DW_AT_bit_size);
    member.bitfield_bits = static_cast<std::uint32_t>(bits.value_or(0));
    member.offset_bits = member_bytes(die) * 8;
    if (auto offset = number(die, DW_AT_data_bit_offset)) {
        member.offset_bits = *offset;
    } else if (auto from_the_left = number(die, DW_AT_bit_offset);
               from_the_left && bits) {
        // DWARF 2: counted from the most significant bit of the unit.
        std::uint64_t unit_bytes = 0;
        Dwarf_Die type;
        if (auto bytes = number(die, DW_AT_byte_size))
            unit_bytes = *bytes;
        else if (plain_type(die, type))
            unit_bytes = number(&type, DW_AT_byte_size).value_or(0);
        member.offset_bits += unit_bytes * 8 - *from_the_left - *bits;
    }
    into.members.push_back(std::move(member));
    return into.members.size() < max_members;
}

void DebugTypes::State::fill_members(Dwarf_Die* die, DebugType& into)
{
    for_children(die, [&](Dwarf_Die* child) {
        switch (dwarf_tag(child)) {
        case DW_TAG_member:
            // A static member lives elsewhere.
            if (has(child, DW_AT_external) || has(child, DW_AT_const_value))
                return true;
            return member(child, into);
        case DW_TAG_inheritance: {
            Dwarf_Attribute location;
            bool is_virtual = number(child, DW_AT_virtuality).value_or(0) != 0;
            if (is_virtual ||
                dwarf_attr(child, DW_AT_data_member_location, &location) == nullptr)
                return true; // where it is, only the object knows
            bool more = member(child, into);
            into.members.back().name.clear();
            return more;
        }
        default:
            return true;
        }
    });
}

void DebugTypes::State::fill_enumerators(Dwarf_Die* die, DebugType& into)
{
    Dwarf_Die underlying;
    bool has_type = plain_type(die, underlying);
    auto encoding = has_type ? number(&underlying, DW_AT_encoding) : std::nullopt;
    into.is_signed =
        !encoding || *encoding == DW_ATE_signed || *encoding == DW_ATE_signed_char;
    if (into.bytes == 0 && has_type)
        into.bytes = number(&underlying, DW_AT_byte_size).value_or(0);
    for_children(die, [&](Dwarf_Die* child) {
        Dwarf_Attribute found;
        if (dwarf_tag(child) != DW_TAG_enumerator ||
            dwarf_attr(child, DW_AT_const_value, &found) == nullptr)
            return true;
        // Forms without a sign are read as unsigned ones, whatever the type says.
        Dwarf_Sword value = 0;
        Dwarf_Word word = 0;
        if (into.is_signed ? dwarf_formsdata(&found, &value) == 0
                           : dwarf_formudata(&found, &word) == 0)
            into.enumerators.emplace_back(
                name_of(child),
                into.is_signed ? value : static_cast<std::int64_t>(word));
        return into.enumerators.size() < max_members;
    });
}

void DebugTypes::State::fill_function(Dwarf_Die* die, DebugType& into)
{
    into.base = type_of(die);
    for_children(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_formal_parameter)
            into.parameters.push_back(type_of(child));
        if (dwarf_tag(child) == DW_TAG_unspecified_parameters)
            into.varargs = true;
        return into.parameters.size() < max_members;
    });
}

DebugType DebugTypes::type(DebugRef ref)
{
    using Kind = DebugType::Kind;
    State& state = *state_;
    DebugType out;
    if (ref == 0 || ref > state.entries.size())
        return out;
    Dwarf_Die die = state.entries[ref - 1], target;
    out.name = name_of(&die);
    out.bytes = number(&die, DW_AT_byte_size).value_or(0);
    out.align = number(&die, DW_AT_alignment).value_or(0);
    auto refer = [&](Kind kind) {
        out.kind = kind;
        out.base = state.type_of(&die);
    };
    switch (dwarf_tag(&die)) {
    case DW_TAG_base_type:
        state.fill_base(&die, out);
        break;
    case DW_TAG_unspecified_type:
        if (out.name.find("nullptr") != std::string::npos) {
            out.kind = Kind::Pointer;
            out.bytes = 8;
        }
        break;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        refer(Kind::Pointer);
        out.bytes = 8;
        break;
    case DW_TAG_ptr_to_member_type:
        out.kind = Kind::Opaque;
        out.passing = Passing::IntegerWords;
        out.align = 8;
        if (out.bytes == 0) // of a function: also by how much `this` moves
            out.bytes =
                plain_type(&die, target) && dwarf_tag(&target) == DW_TAG_subroutine_type
                    ? 16
                    : 8;
        break;
    case DW_TAG_array_type:
        refer(Kind::Array);
        out.counts = dimensions_of(&die);
        if (has(&die, DW_AT_GNU_vector))
            state.fill_vector(&die, out);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        out.kind = dwarf_tag(&die) == DW_TAG_union_type ? Kind::Union : Kind::Struct;
        out.is_complete = dwarf_hasattr(&die, DW_AT_declaration) == 0;
        // Rust promises nothing of how it passes them.
        out.passing = language_of(&die) == DW_LANG_Rust ? Passing::Unknown
                                                        : state.class_passing(&die);
        state.fill_members(&die, out);
        break;
    case DW_TAG_enumeration_type:
        out.kind = Kind::Enum;
        out.is_complete = dwarf_hasattr(&die, DW_AT_declaration) == 0;
        state.fill_enumerators(&die, out);
        break;
    case DW_TAG_typedef:
    case DW_TAG_template_alias:
        refer(Kind::Typedef);
        break;
    case DW_TAG_const_type:
        refer(Kind::Const);
        break;
    case DW_TAG_volatile_type:
        refer(Kind::Volatile);
        break;
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
    case DW_TAG_immutable_type:
    case DW_TAG_packed_type:
    case DW_TAG_shared_type:
    case DW_TAG_subrange_type:
        refer(Kind::Typedef); // without a name: the type itself
        out.name.clear();
        break;
    case DW_TAG_subroutine_type:
        out.kind = Kind::Function;
        state.fill_function(&die, out);
        break;
    default:
        out.kind = Kind::Opaque;
        break;
    }
    return out;
}

} // namespace dt
