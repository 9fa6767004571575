// SPDX-License-Identifier: MIT
// C API: lists the modules of a traced process, and finds symbols by name and by
// address.
#include "libdtrace/api/handle.hpp"

#include <algorithm>
#include <cstring>

std::vector<const dt::Module*> dtrace_hdl::modules_called(const char* object)
{
    auto none = [this](const std::string& why) {
        fail(EDT_NOMOD, why);
        return std::vector<const dt::Module*>{};
    };
    if (object == DTRACE_OBJ_KMODS)
        return none("only dtrace_lookup_by_name() accepts DTRACE_OBJ_KMODS");
    const bool any = object == DTRACE_OBJ_UMODS || object == DTRACE_OBJ_EVERY;
    const bool linker = object == DTRACE_OBJ_RTLD;
    std::string scope;
    if (object == DTRACE_OBJ_EXEC)
        scope = "a.out";
    else if (!any && !linker)
        scope = object;
    dt::ProcessNames::Scope in = names().in_scope(scope);
    if (in.process == nullptr || !in.process->symbols)
        return none(in.why_not);
    const dt::ProcessSymbols& symbols = *in.process->symbols;
    if (linker) {
        const dt::Module* main = symbols.main_module();
        const std::string path =
            main != nullptr && main->image ? main->image->facts().interpreter : "";
        scope = path.substr(path.rfind('/') + 1);
        if (scope.empty())
            return none("the program has no dynamic linker");
        in.module = scope;
    }
    auto found = any ? symbols.modules() : symbols.match_modules(in.module);
    // The program's names take precedence over the names of its libraries.
    std::stable_partition(found.begin(), found.end(),
                          [](const dt::Module* module) { return module->is_main; });
    return found.empty() ? none("there is no module " + std::string(in.module)) : found;
}

namespace {

dtrace_objinfo_t info_of(dtrace_hdl& session, const dt::Module& module, int id)
{
    dtrace_objinfo_t info{};
    info.dto_name = session.keep(module.name);
    info.dto_file = session.keep(module.path);
    info.dto_id = id;
    info.dto_flags = module.is_main ? DTRACE_OBJ_F_PRIMARY : 0;
    if (!module.image)
        return info;
    for (const dt::ElfSegment& segment : module.image->segments()) {
        const std::uint64_t at = module.target_addr(segment.addr).value;
        if (segment.executable && info.dto_text_size == 0) {
            info.dto_text_va = at;
            info.dto_text_size = segment.mem_bytes;
        } else if (segment.writable && info.dto_data_size == 0) {
            info.dto_data_va = at;
            info.dto_data_size = std::min(segment.file_bytes, segment.mem_bytes);
            info.dto_bss_size = segment.mem_bytes - info.dto_data_size;
            info.dto_bss_va = info.dto_bss_size != 0 ? at + info.dto_data_size : 0;
        }
    }
    return info;
}

int id_of(const dt::ProcessNames::Scope& in, const dt::Module* module)
{
    auto all = in.process->symbols->modules();
    return static_cast<int>(std::find(all.begin(), all.end(), module) - all.begin());
}

void show_function(const dt::Module& module, const dt::Function& function,
                   Elf64_Sym& sym)
{
    sym.st_value = module.target_addr(function.addr).value;
    sym.st_size = function.n_bytes;
    const auto& name = module.image->functions().names(function).front();
    const unsigned binding = name.binding == dt::Binding::global ? STB_GLOBAL
                             : name.binding == dt::Binding::weak ? STB_WEAK
                                                                 : STB_LOCAL;
    sym.st_info = ELF64_ST_INFO(binding, STT_FUNC);
    sym.st_shndx = SHN_ABS;
}

std::uint64_t variable_size(dtrace_hdl& session, const dt::Module& module,
                            std::string_view name)
{
    auto types = module.image->debug_types();
    auto variable = types ? (*types)->find_variable(name) : std::nullopt;
    return variable ? session.compiler().target_type(**types, variable->type)->size : 0;
}

bool find_in(dtrace_hdl& session, const dt::Module& module, std::string_view name,
             Elf64_Sym& sym)
{
    if (!module.image)
        return false;
    if (const dt::Function* function = module.image->functions().find(name)) {
        show_function(module, *function, sym);
        return true;
    }
    auto addr = module.image->find_variable(name);
    if (!addr)
        return false;
    sym.st_value = module.target_addr(*addr).value;
    sym.st_size = variable_size(session, module, name);
    sym.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    sym.st_shndx = SHN_ABS;
    return true;
}

void show_kernel(const dt::KernelSymbols::Symbol& found, Elf64_Sym& sym)
{
    sym.st_value = found.addr;
    sym.st_size = found.n_bytes;
    sym.st_info = ELF64_ST_INFO(found.is_global ? STB_GLOBAL : STB_LOCAL,
                                found.is_function ? STT_FUNC : STT_OBJECT);
    sym.st_shndx = SHN_ABS;
}

int find_kernel_symbol(dtrace_hdl& session, const char* name, Elf64_Sym* sym,
                       dtrace_syminfo_t* info)
{
    auto found = session.state().processes.kernel().find("", name);
    if (!found)
        return session.fail(EDT_NOSYM, found.error().text);
    if (sym != nullptr) {
        *sym = {};
        show_kernel(*found, *sym);
    }
    if (info != nullptr)
        *info = {session.keep(std::string(found->module)), session.keep(name), 0};
    return 0;
}

} // namespace

extern "C" {

int dtrace_object_iter(dtrace_hdl_t* dtp, dtrace_obj_f* func, void* arg)
{
    auto in = dtp->names().in_scope("");
    if (in.process == nullptr || !in.process->symbols)
        return dtp->fail(EDT_NOMOD, in.why_not);
    int id = 0;
    for (const dt::Module* module : in.process->symbols->modules()) {
        dtrace_objinfo_t info = info_of(*dtp, *module, id++);
        if (int stop = func(dtp, &info, arg); stop != 0)
            return stop;
    }
    return 0;
}

int dtrace_object_info(dtrace_hdl_t* dtp, const char* object, dtrace_objinfo_t* info)
{
    std::memset(info, 0, sizeof *info);
    if (object == DTRACE_OBJ_EVERY || object == DTRACE_OBJ_UMODS)
        return dtp->fail(EDT_NOMOD, "a single module is required, not all modules");
    auto found = dtp->modules_called(object);
    if (found.empty())
        return -1;
    const bool named = object != DTRACE_OBJ_EXEC && object != DTRACE_OBJ_RTLD;
    *info = info_of(*dtp, *found.front(),
                    id_of(dtp->names().in_scope(named ? object : ""), found.front()));
    return 0;
}

int dtrace_lookup_by_name(dtrace_hdl_t* dtp, const char* object, const char* name,
                          Elf64_Sym* sym, dtrace_syminfo_t* info)
{
    if (object == DTRACE_OBJ_KMODS)
        return find_kernel_symbol(*dtp, name, sym, info);
    Elf64_Sym found{};
    auto modules = dtp->modules_called(object);
    if (modules.empty())
        return -1;
    for (const dt::Module* module : modules) {
        if (!find_in(*dtp, *module, name, found))
            continue;
        if (sym != nullptr)
            *sym = found;
        if (info != nullptr)
            *info = {dtp->keep(module->name), dtp->keep(name), 0};
        return 0;
    }
    return dtp->fail(EDT_NOSYM, "there is no symbol " + std::string(name));
}

int dtrace_lookup_by_addr(dtrace_hdl_t* dtp, Elf64_Addr addr, Elf64_Sym* sym,
                          dtrace_syminfo_t* info)
{
    auto in = dtp->names().in_scope("");
    if (in.process == nullptr || !in.process->symbols)
        return dtp->fail(EDT_NOMOD, in.why_not);
    dt::Symbol found = in.process->symbols->lookup(dt::TargetAddr{addr});
    if (found.function == nullptr)
        return dtp->fail(EDT_NOSYMADDR, "there is no function at that address");
    if (sym != nullptr) {
        std::memset(sym, 0, sizeof *sym);
        show_function(*found.module, *found.function, *sym);
    }
    if (info != nullptr)
        *info = {dtp->keep(found.module->name), dtp->keep(std::string(found.name)), 0};
    return 0;
}

} // extern "C"
