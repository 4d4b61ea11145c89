#pragma once

#include "base/array.hpp"
