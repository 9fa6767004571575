// SPDX-License-Identifier: MIT
// C API: finds types by name or by symbol, and describes them. A dtrace_type_t is a
// Type in the compiler's table.
#include "libdtrace/api/handle.hpp"

#include <cstring>

namespace {

using DebugKind = dt::DebugTypes::Kind;

const dtrace_type_t* shown(const dt::Type* type)
{
    return reinterpret_cast<const dtrace_type_t*>(type);
}

const dt::Type* type_of(const dtrace_type_t* type)
{
    return reinterpret_cast<const dt::Type*>(type);
}

// A type's name such as "struct foo **", split into the name without stars and the
// number of stars.
struct Wanted {
    DebugKind kind = DebugKind::Ordinary;
    std::string_view name;
    int n_pointers = 0;
};

Wanted wanted_of(std::string_view text)
{
    Wanted wanted;
    auto trim = [&text] {
        while (!text.empty() && text.front() == ' ')
            text.remove_prefix(1);
        while (!text.empty() && text.back() == ' ')
            text.remove_suffix(1);
    };
    for (trim(); text.ends_with('*'); trim()) {
        text.remove_suffix(1);
        wanted.n_pointers++;
    }
    auto [kind, name] = dt::DebugTypes::split(text);
    text = name;
    trim();
    wanted.kind = kind;
    wanted.name = text;
    return wanted;
}

const dt::Type* find_in(dtrace_hdl& session, dt::DebugTypes& types,
                        const Wanted& wanted)
{
    auto ref = types.find(wanted.kind, wanted.name);
    if (!ref)
        return nullptr;
    const dt::Type* type = session.compiler().target_type(types, *ref);
    for (int i = 0; i < wanted.n_pointers; i++)
        type = session.compiler().pointer_to(type);
    return type;
}

dt::DebugTypes* types_of(const dt::Module& module)
{
    if (!module.image)
        return nullptr;
    auto types = module.image->debug_types();
    return types ? *types : nullptr;
}

int compile_type(dtrace_hdl& session, const std::string& text, int failed,
                 dtrace_typeinfo_t& info)
{
    auto named = session.compiler().type_named(
        text, session.session.compiler().compile_options(0));
    if (auto* diagnostic = std::get_if<dt::Diagnostic>(&named))
        return session.fail(failed, diagnostic->text);
    info = {"D", shown(std::get<const dt::Type*>(named)), 0};
    return 0;
}

const dt::Type* type_of_symbol(dtrace_hdl& session, const dt::Module& module,
                               std::string_view name)
{
    dt::DebugTypes* types = types_of(module);
    if (types == nullptr)
        return nullptr;
    if (const dt::Function* function = module.image->functions().find(name))
        if (auto described = types->function_at(function->addr))
            return session.compiler().target_function(*types, *described);
    auto variable = types->find_variable(name);
    return variable ? session.compiler().target_type(*types, variable->type) : nullptr;
}

int kind_of(dt::TypeKind kind)
{
    switch (kind) {
    case dt::TypeKind::Void:
        return DTRACE_TYPE_VOID;
    case dt::TypeKind::Integer:
        return DTRACE_TYPE_INTEGER;
    case dt::TypeKind::Float:
        return DTRACE_TYPE_FLOAT;
    case dt::TypeKind::Pointer:
        return DTRACE_TYPE_POINTER;
    case dt::TypeKind::Array:
        return DTRACE_TYPE_ARRAY;
    case dt::TypeKind::Function:
        return DTRACE_TYPE_FUNCTION;
    case dt::TypeKind::Struct:
        return DTRACE_TYPE_STRUCT;
    case dt::TypeKind::Union:
        return DTRACE_TYPE_UNION;
    case dt::TypeKind::Enum:
        return DTRACE_TYPE_ENUM;
    case dt::TypeKind::Typedef:
        return DTRACE_TYPE_TYPEDEF;
    case dt::TypeKind::String:
        return DTRACE_TYPE_STRING;
    default:
        return DTRACE_TYPE_OTHER;
    }
}

} // namespace

extern "C" {

int dtrace_lookup_by_type(dtrace_hdl_t* dtp, const char* object, const char* name,
                          dtrace_typeinfo_t* info)
{
    const bool every = object == DTRACE_OBJ_EVERY;
    const bool of_d = !every && object != DTRACE_OBJ_EXEC &&
                      object != DTRACE_OBJ_RTLD && object != DTRACE_OBJ_KMODS &&
                      object != DTRACE_OBJ_UMODS && std::strcmp(object, "D") == 0;
    if (of_d)
        return compile_type(*dtp, name, EDT_NOTYPE, *info);
    auto modules = dtp->modules_called(object);
    if (modules.empty() && !every)
        return -1;
    const Wanted wanted = wanted_of(name);
    bool any = false;
    for (const dt::Module* module : modules) {
        dt::DebugTypes* types = types_of(*module);
        any = any || types != nullptr;
        if (const dt::Type* type =
                types != nullptr ? find_in(*dtp, *types, wanted) : nullptr) {
            *info = {dtp->keep(module->name), shown(type), DTT_FL_USER};
            return 0;
        }
    }
    if (every)
        return compile_type(*dtp, name, EDT_NOTYPE, *info);
    return any ? dtp->fail(EDT_NOTYPE, "there is no type " + std::string(name))
               : dtp->fail(EDT_NOCTF, modules.front()->name + " has no debug data");
}

int dtrace_symbol_type(dtrace_hdl_t* dtp, const Elf64_Sym*,
                       const dtrace_syminfo_t* symbol, dtrace_typeinfo_t* info)
{
    auto modules = dtp->modules_called(symbol->dts_object);
    if (modules.empty())
        return -1;
    bool any = false;
    for (const dt::Module* module : modules) {
        any = any || types_of(*module) != nullptr;
        if (const dt::Type* type = type_of_symbol(*dtp, *module, symbol->dts_name)) {
            *info = {dtp->keep(module->name), shown(type), DTT_FL_USER};
            return 0;
        }
    }
    return any ? dtp->fail(EDT_NOTYPE, "the debug data does not describe " +
                                           std::string(symbol->dts_name))
               : dtp->fail(EDT_NOCTF, modules.front()->name + " has no debug data");
}

int dtrace_type_strcompile(dtrace_hdl_t* dtp, const char* text, dtrace_typeinfo_t* info)
{
    return compile_type(*dtp, text, EDT_COMPILER, *info);
}

int dtrace_type_fcompile(dtrace_hdl_t* dtp, FILE* file, dtrace_typeinfo_t* info)
{
    std::string text;
    char chunk[4096];
    for (std::size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;)
        text.append(chunk, n);
    if (std::ferror(file))
        return dtp->fail(EDT_FIO);
    return compile_type(*dtp, text, EDT_COMPILER, *info);
}

int dtrace_type_info(dtrace_hdl_t* dtp, const dtrace_type_t* shown_type,
                     dtrace_typedesc_t* desc)
{
    const dt::Type* type = type_of(shown_type);
    dtp->compiler().complete(type);
    const bool forward = !type->complete && type->kind != dt::TypeKind::Array;
    *desc = {};
    desc->dtty_kind =
        forward ? static_cast<int>(DTRACE_TYPE_OTHER) : kind_of(type->kind);
    desc->dtty_name = dtp->keep(dt::type_text(type));
    desc->dtty_size = type->resolve()->size;
    desc->dtty_signed = type->resolve()->is_signed;
    desc->dtty_base = shown(type->base);
    desc->dtty_count = type->count;
    return 0;
}

int dtrace_type_member_iter(dtrace_hdl_t* dtp, const dtrace_type_t* shown_type,
                            dtrace_member_f* func, void* arg)
{
    dtp->compiler().complete(type_of(shown_type));
    const dt::Type* type = type_of(shown_type)->resolve();
    std::vector<dtrace_memberdesc_t> all;
    for (const dt::Member& member : type->members)
        all.push_back({dtp->keep(member.name), shown(member.type), member.offset_bits,
                       member.bitfield_bits, 0});
    for (const dt::Enumerator& one : type->enumerators)
        all.push_back({dtp->keep(one.name), nullptr, 0, 0, one.value});
    for (const dt::Type* parameter : type->parameters)
        all.push_back({"", shown(parameter), 0, 0, 0});
    for (const dtrace_memberdesc_t& member : all)
        if (int stop = func(dtp, &member, arg); stop != 0)
            return stop;
    return 0;
}

} // extern "C"
