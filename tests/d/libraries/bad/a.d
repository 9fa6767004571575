inline int FINE = 1;

inline int BROKEN = nothing;
