#include "tests/unit/recording_test_support.h"
