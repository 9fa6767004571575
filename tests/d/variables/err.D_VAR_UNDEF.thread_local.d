/* A thread-local variable that nothing sets is not known. */
BEGIN { trace(self->never); }
