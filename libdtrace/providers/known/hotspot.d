/* SPDX-License-Identifier: MIT */
/* OpenJDK 17; see "DTrace Probes in HotSpot VM". The length of a string is in the next argument. */
provider hotspot {
	probe vm__init__begin();
	probe vm__init__end();
	probe vm__shutdown();
	probe thread__start(char *name, int length, long id, unsigned long native, char daemon);
	probe thread__stop(char *name, int length, long id, unsigned long native, char daemon);
	probe thread__sleep__begin(long time);
	probe thread__sleep__end(int interrupted);
	probe thread__park__begin(unsigned long parker, int absolute, long time);
	probe thread__park__end(unsigned long parker);
	probe thread__unpark(unsigned long parker);
	probe thread__yield();
	probe class__loaded(char *name, int length, void *loader, char shared);
	probe class__unloaded(char *name, int length, void *loader, char shared);
	probe class__initialization__required(char *name, int length, void *loader, int type);
	probe class__initialization__recursive(char *name, int length, void *loader, int type, char waits);
	probe class__initialization__concurrent(char *name, int length, void *loader, int type, char waits);
	probe class__initialization__erroneous(char *name, int length, void *loader, int type, char waits);
	probe class__initialization__super__failed(char *name, int length, void *loader, int type, char waits);
	probe class__initialization__clinit(char *name, int length, void *loader, int type, char waits);
	probe class__initialization__error(char *name, int length, void *loader, int type, char waits);
	probe class__initialization__end(char *name, int length, void *loader, int type, char waits);
	probe gc__begin(char full);
	probe gc__end();
	probe mem__pool__gc__begin(char *manager, unsigned long length, char *pool,
	    unsigned long pool_length, unsigned long initial, unsigned long used,
	    unsigned long committed, unsigned long maximum);
	probe mem__pool__gc__end(char *manager, unsigned long length, char *pool,
	    unsigned long pool_length, unsigned long initial, unsigned long used,
	    unsigned long committed, unsigned long maximum);
	probe method__compile__begin(char *compiler, unsigned long length, char *class_name, int class_length,
	    char *method, int method_length, char *signature, int signature_length);
	probe method__compile__end(char *compiler, unsigned long length, char *class_name, int class_length,
	    char *method, int method_length, char *signature, int signature_length, char succeeded);
	probe compiled__method__load(char *class_name, int class_length, char *method, int method_length,
	    char *signature, int signature_length, void *code, int size);
	probe compiled__method__unload(char *class_name, int class_length, char *method, int method_length,
	    char *signature, int signature_length);
	probe method__entry(long thread, char *class_name, int class_length, char *method,
	    int method_length, char *signature, int signature_length);
	probe method__return(long thread, char *class_name, int class_length, char *method,
	    int method_length, char *signature, int signature_length);
	probe object__alloc(long thread, char *class_name, int class_length, int size);
	probe monitor__contended__enter(long thread, unsigned long monitor, char *class_name, int class_length);
	probe monitor__contended__entered(long thread, unsigned long monitor, char *class_name, int class_length);
	probe monitor__contended__exit(long thread, unsigned long monitor, char *class_name, int class_length);
	probe monitor__wait(long thread, unsigned long monitor, char *class_name, int class_length, long time);
	probe monitor__waited(long thread, unsigned long monitor, char *class_name, int class_length);
	probe monitor__notify(long thread, unsigned long monitor, char *class_name, int class_length);
	probe monitor__notifyAll(long thread, unsigned long monitor, char *class_name, int class_length);
	probe vmops__request(char *name, unsigned long length, int mode);
	probe vmops__begin(char *name, unsigned long length, int mode);
	probe vmops__end(char *name, unsigned long length, int mode);
};
