// All of LeanTea's API but the test client (leantea/test.hpp).
#pragma once

#include <leantea/http.hpp>
#include <leantea/limits.hpp>
#include <leantea/request.hpp>
#include <leantea/response.hpp>
#include <leantea/router.hpp>
#include <leantea/server.hpp>
#include <leantea/task.hpp>
#include <leantea/version.hpp>
