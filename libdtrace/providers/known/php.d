/* SPDX-License-Identifier: MIT */
/* PHP 8; see "DTrace Static Probes in Core PHP" in its manual. */
provider php {
	probe request__startup(const char *file, const char *uri, const char *method);
	probe request__shutdown(const char *file, const char *uri, const char *method);
	probe compile__file__entry(const char *file, const char *translated);
	probe compile__file__return(const char *file, const char *translated);
	probe execute__entry(const char *file, int line);
	probe execute__return(const char *file, int line);
	probe function__entry(const char *function, const char *file, int line,
	    const char *class_name, const char *scope);
	probe function__return(const char *function, const char *file, int line,
	    const char *class_name, const char *scope);
	probe exception__thrown(const char *class_name);
	probe exception__caught(const char *class_name);
	probe error(const char *message, const char *file, int line);
};
