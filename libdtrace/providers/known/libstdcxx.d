/* SPDX-License-Identifier: MIT */
/* GCC's C++ library: the thrown object and its std::type_info. */
provider libstdcxx {
	probe throw(void *object, void *type);
	probe rethrow(void *object, void *type);
	probe catch(void *object, void *type);
};
