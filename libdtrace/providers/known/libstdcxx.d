/* SPDX-License-Identifier: MIT */
/* GCC's library of C++: the object that is thrown, and its std::type_info. */
provider libstdcxx {
	probe throw(void *object, void *type);
	probe rethrow(void *object, void *type);
	probe catch(void *object, void *type);
};
