/* A thread-local variable that is never assigned is unknown. */
BEGIN { trace(self->never); }
