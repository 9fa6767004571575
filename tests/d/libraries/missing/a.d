#pragma D depends_on library nowhere.d
