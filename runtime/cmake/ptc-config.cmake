# find_package(ptc): what programs need that call compiled models, and a rule that compiles models.
#
#   find_package(ptc REQUIRED)                        # -Dptc_DIR=$(python3 -m ptc.paths cmake)
#   ptc_add_model(digits MODEL digits.pt2)            # digits.so in the build folder
#   add_executable(classify classify.cpp)
#   target_link_libraries(classify PRIVATE ptc::api)  # ptc/ptc.h and ptc/ptc.hpp; models are opened when it runs
#   add_dependencies(classify digits)

# Through links: /lib/cmake/ptc is /usr/lib/cmake/ptc.
get_filename_component(_ptc_here "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_ptc_root "${_ptc_here}/.." ABSOLUTE)

if(NOT TARGET ptc::api)
  add_library(ptc::api INTERFACE IMPORTED)
  set_target_properties(ptc::api PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_ptc_root}/include"
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()

find_program(PTC_EXECUTABLE ptc HINTS "${_ptc_root}/bin" DOC "The compiler of models")

# ptc_add_model(NAME MODEL FILE [WEIGHTS FILE] [OUTPUT FILE] [MARCH NAME[,NAME...]]): a target that compiles a model.
# Its property OUTPUT is the library, NAME.so in the build folder unless OUTPUT says otherwise.
function(ptc_add_model name)
  cmake_parse_arguments(arg "" "MODEL;WEIGHTS;OUTPUT;MARCH" "" ${ARGN})
  if(NOT arg_MODEL OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ptc_add_model(${name}): wants MODEL, takes WEIGHTS, OUTPUT and MARCH; ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT PTC_EXECUTABLE)
    message(FATAL_ERROR "ptc_add_model(${name}): the program ptc is not found (set PTC_EXECUTABLE)")
  endif()
  get_filename_component(model "${arg_MODEL}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  set(inputs "${model}")
  set(options)
  if(arg_WEIGHTS)
    get_filename_component(weights "${arg_WEIGHTS}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    list(APPEND inputs "${weights}")
    list(APPEND options --weights "${weights}")
  endif()
  if(arg_MARCH)
    list(APPEND options --march "${arg_MARCH}")
  else()
    list(APPEND options --march native)
    message(NOTICE "ptc_add_model(${name}): for this machine's processor alone; one that is shipped wants MARCH "
      "x86-64-v3,x86-64-v4 (MARCH native says that this one is meant)")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${name}.so")
  endif()
  get_filename_component(output "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${PTC_EXECUTABLE}" compile "${model}" -o "${output}" ${options}
    DEPENDS ${inputs} "${PTC_EXECUTABLE}"
    COMMENT "Compiling model ${name}"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${output}")
  set_target_properties(${name} PROPERTIES OUTPUT "${output}")
endfunction()
