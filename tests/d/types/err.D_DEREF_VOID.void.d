/* A void pointer cannot be dereferenced. */
void *p;
BEGIN { exit(*p); }
