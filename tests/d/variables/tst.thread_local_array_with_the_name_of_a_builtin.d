/*
 * A thread-local array may have the name of a built-in variable, as a scalar may.
 * @flags: -q
 */
BEGIN { self->cpu[1] = 7; self->pid["x"] = 8; self->timestamp = 9; }
BEGIN { printf("%d %d %d\n", self->cpu[1], self->pid["x"], self->timestamp); exit(0); }
