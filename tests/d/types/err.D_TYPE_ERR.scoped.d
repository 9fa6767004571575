/* A type in the scope of a module exists there. */
BEGIN { x = (struct libc`no_such_struct *)1; }
