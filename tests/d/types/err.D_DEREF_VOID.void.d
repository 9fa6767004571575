/* A void pointer is not followed. */
void *p;
BEGIN { exit(*p); }
