/* A type in the scope of a module must exist in this module. */
BEGIN { x = (struct libc`no_such_struct *)1; }
