# Makes scripts of the page's modules. It knows what these modules use of the language, and refuses the rest:
# `import {a, b} from './x.js';` at the beginning of a line, `export` in front of a const, function or class, and
# import('./x.js') with a name that is known. Each module becomes a function that is called once, after those that it
# imports. Comments on lines of their own and indentation are left out.
#
#   bundle(FILES...)                        the modules that there are
#   bundle_script(app main wall)            app.js gets main.js, what it imports, and what it imports later
#   bundle_script(more camera system)       more.js gets others that are imported later, and what only these import
#   bundle_text(VARIABLE app)               when all have been named

function(bundle)
  foreach(file IN LISTS ARGN)
    get_filename_component(name "${file}" NAME_WE)
    set_property(GLOBAL PROPERTY bundle_file_${name} "${file}")
  endforeach()
endfunction()

# The names behind `pattern`, such as "from", in the text of a module.
function(bundle_names out text pattern)
  string(REGEX MATCHALL "${pattern}'\\./[a-z0-9_]+\\.js'" found "${text}")
  list(TRANSFORM found REPLACE ".*'\\./([a-z0-9_]+)\\.js'$" "\\1")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(bundle_module name script)
  get_property(state GLOBAL PROPERTY bundle_state_${name})
  if(state STREQUAL begun)
    message(FATAL_ERROR "${name}.js: imports itself, through others")
  elseif(state)
    return()
  endif()
  set_property(GLOBAL PROPERTY bundle_state_${name} begun)
  get_property(file GLOBAL PROPERTY bundle_file_${name})
  if(NOT file)
    message(FATAL_ERROR "${name}.js is imported, and no file of the page")
  endif()
  file(READ "${file}" text)
  bundle_names(imports "\n${text}" "\nimport {[^}]*} from ")
  foreach(imported IN LISTS imports)
    bundle_module(${imported} ${script})
  endforeach()

  string(REGEX MATCHALL "\nexport (async function|function|class|const) [A-Za-z0-9_]+" exports "\n${text}")
  list(TRANSFORM exports REPLACE ".* " "")
  list(JOIN exports ", " exported)
  string(REGEX REPLACE "\nimport {([^}]*)} from '\\./([a-z0-9_]+)\\.js'" "\nconst {\\1} = modules.\\2" text "\n${text}")
  string(REGEX REPLACE "\nexport (async function|function|class|const) " "\n\\1 " text "${text}")
  bundle_names(later "${text}" "import\\(")
  foreach(imported IN LISTS later)
    get_property(with GLOBAL PROPERTY bundle_later_${imported})
    if(NOT with)
      message(FATAL_ERROR "${file}: imports ${imported}.js later, and no script has it")
    endif()
    string(REPLACE "import('./${imported}.js')" "import('./${with}.js').then(() => modules.${imported})" text "${text}")
  endforeach()
  string(REGEX MATCH "\n *(import|export) [^\n]*" unknown "${text}")
  if(unknown)
    message(FATAL_ERROR "${file}: bundle.cmake does not know this: ${unknown}")
  endif()
  string(REGEX REPLACE "\n +" "\n" text "${text}")
  string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  set_property(GLOBAL APPEND_STRING PROPERTY bundle_text_${script}
    "modules.${name} = (() => {${text}return {${exported}};\n})();\n")
  set_property(GLOBAL PROPERTY bundle_state_${name} ${script})
endfunction()

function(bundle_script script)
  set_property(GLOBAL PROPERTY bundle_roots_${script} ${ARGN})
  foreach(name IN LISTS ARGN)
    set_property(GLOBAL PROPERTY bundle_later_${name} ${script})
  endforeach()
endfunction()

# app.js first: it begins the table of modules.
function(bundle_text out script)
  get_property(roots GLOBAL PROPERTY bundle_roots_${script})
  foreach(name IN LISTS roots)
    bundle_module(${name} ${script})
  endforeach()
  get_property(text GLOBAL PROPERTY bundle_text_${script})
  if(script STREQUAL app)
    set(${out} "export const modules = {};\n${text}" PARENT_SCOPE)
  else()
    set(${out} "import {modules} from './app.js';\n${text}" PARENT_SCOPE)
  endif()
endfunction()
