#include <stddef.h>
#include "wrong.h"
