/* A type in the scope of a module must exist in that module. */
BEGIN { x = (struct libc`no_such_struct *)1; }
