/* SPDX-License-Identifier: MIT */
/* PostgreSQL 15; see "Dynamic Tracing" in its manual. */
provider postgresql {
	probe transaction__start(unsigned int id);
	probe transaction__commit(unsigned int id);
	probe transaction__abort(unsigned int id);
	probe query__start(const char *query);
	probe query__done(const char *query);
	probe query__parse__start(const char *query);
	probe query__parse__done(const char *query);
	probe query__rewrite__start(const char *query);
	probe query__rewrite__done(const char *query);
	probe query__plan__start();
	probe query__plan__done();
	probe query__execute__start();
	probe query__execute__done();
	probe statement__status(const char *status);
	probe checkpoint__start(int flags);
	probe checkpoint__done(int written, int buffers, int added, int removed, int recycled);
	probe clog__checkpoint__start(char normal);
	probe clog__checkpoint__done(char normal);
	probe subtrans__checkpoint__start(char normal);
	probe subtrans__checkpoint__done(char normal);
	probe multixact__checkpoint__start(char normal);
	probe multixact__checkpoint__done(char normal);
	probe twophase__checkpoint__start();
	probe twophase__checkpoint__done();
	probe buffer__checkpoint__start(int flags);
	probe buffer__checkpoint__sync__start();
	probe buffer__checkpoint__done();
	probe buffer__sync__start(int buffers, int dirty);
	probe buffer__sync__written(int buffer);
	probe buffer__sync__done(int buffers, int written, int dirty);
	probe buffer__read__start(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation, int backend, char extends);
	probe buffer__read__done(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation, int backend, char extends, char hit);
	probe buffer__flush__start(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation);
	probe buffer__flush__done(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation);
	probe buffer__write__dirty__start(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation);
	probe buffer__write__dirty__done(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation);
	probe wal__buffer__write__dirty__start();
	probe wal__buffer__write__dirty__done();
	probe wal__insert(unsigned char manager, unsigned char flags);
	probe wal__switch();
	probe smgr__md__read__start(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation, int backend);
	probe smgr__md__read__done(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation, int backend, int read, int wanted);
	probe smgr__md__write__start(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation, int backend);
	probe smgr__md__write__done(int fork, unsigned int block, unsigned int tablespace,
	    unsigned int database, unsigned int relation, int backend, int written, int wanted);
	probe sort__start(int kind, char unique, int keys, int memory, char random, int parallel);
	probe sort__done(char external, long space);
	probe lwlock__acquire(const char *tranche, int mode);
	probe lwlock__release(const char *tranche);
	probe lwlock__wait__start(const char *tranche, int mode);
	probe lwlock__wait__done(const char *tranche, int mode);
	probe lwlock__condacquire(const char *tranche, int mode);
	probe lwlock__condacquire__fail(const char *tranche, int mode);
	probe lwlock__acquire__or__wait(const char *tranche, int mode);
	probe lwlock__acquire__or__wait__fail(const char *tranche, int mode);
	probe lock__wait__start(unsigned int field1, unsigned int field2, unsigned int field3,
	    unsigned int field4, unsigned int type, int mode);
	probe lock__wait__done(unsigned int field1, unsigned int field2, unsigned int field3,
	    unsigned int field4, unsigned int type, int mode);
	probe deadlock__found();
};
