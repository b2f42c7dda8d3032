# What `cmake --install` puts where: programs, units, man pages, completions, configuration. The
# Debian package, the RPM and the container image are made of it.
include(GNUInstallDirs)
set(WEIR_UNIT_DIR "${CMAKE_INSTALL_PREFIX}/lib/systemd/system" CACHE PATH "Where systemd's units go")
set(WEIR_ZSH_DIR "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE PATH "Where zsh's completions go")
set(packaging ${CMAKE_SOURCE_DIR}/packaging)
set(made ${CMAKE_BINARY_DIR}/packaging)

install(TARGETS weir-manager weir-engine weir-proxy DESTINATION ${CMAKE_INSTALL_SBINDIR})
install(TARGETS weirctl DESTINATION ${CMAKE_INSTALL_BINDIR})

# Units, with the programs' places in them.
set(BINDIR ${CMAKE_INSTALL_FULL_BINDIR})
set(SBINDIR ${CMAKE_INSTALL_FULL_SBINDIR})
set(LIBEXECDIR ${CMAKE_INSTALL_FULL_LIBEXECDIR})
foreach(file weir.service weir-engine.service weir-proxy.service replace-weir-proxy)
  configure_file(${packaging}/systemd/${file}.in ${made}/${file} @ONLY)
endforeach()
install(FILES ${packaging}/systemd/weir-run.service
  ${packaging}/systemd/weir-recover.service ${made}/weir.service ${made}/weir-engine.service
  ${made}/weir-proxy.service DESTINATION ${WEIR_UNIT_DIR})
install(PROGRAMS ${packaging}/systemd/replace-weir ${made}/replace-weir-proxy
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/weir)
install(FILES ${packaging}/systemd/weir.sysusers DESTINATION lib/sysusers.d RENAME weir.conf)
install(FILES ${packaging}/systemd/weir.tmpfiles DESTINATION lib/tmpfiles.d RENAME weir.conf)
install(FILES ${packaging}/systemd/weir.modules-load DESTINATION lib/modules-load.d RENAME weir.conf)

# Man pages are made of the same texts as docs/, which tests compare with the programs.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(pages weir.7 weir.yaml.5 weirctl.1 weir-manager.8 weir-engine.8 weir-proxy.8)
list(TRANSFORM pages PREPEND ${made}/man/ OUTPUT_VARIABLE page_files)
file(GLOB page_sources CONFIGURE_DEPENDS ${packaging}/man/*.md ${packaging}/man/*.py)
add_custom_command(OUTPUT ${page_files}
  COMMAND ${Python3_EXECUTABLE} -B ${packaging}/man/make_pages.py --docs ${CMAKE_SOURCE_DIR}/docs
          --version ${PROJECT_VERSION} ${made}/man
  DEPENDS ${page_sources} ${CMAKE_SOURCE_DIR}/docs/configuration.md
          ${CMAKE_SOURCE_DIR}/docs/weirctl.md ${CMAKE_SOURCE_DIR}/docs/packets.md
          ${CMAKE_SOURCE_DIR}/docs/proxy.md
  VERBATIM)
foreach(page ${page_files})
  string(REGEX REPLACE ".*\\." "" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# Completions are printed by weirctl, from its one table of commands.
foreach(shell bash zsh)
  add_custom_command(OUTPUT ${made}/completion.${shell}
    COMMAND weirctl completion ${shell} > ${made}/completion.${shell} DEPENDS weirctl VERBATIM)
endforeach()
install(FILES ${made}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME weirctl)
install(FILES ${made}/completion.zsh DESTINATION ${WEIR_ZSH_DIR}
  RENAME _weirctl)
add_custom_target(weir_package_files ALL
  DEPENDS ${page_files} ${made}/completion.bash ${made}/completion.zsh)

# Configuration: the node's settings, all of them switched off; examples as documentation.
install(FILES ${packaging}/examples/weir.yaml DESTINATION /etc/weir)
install(DIRECTORY DESTINATION /etc/weir/conf.d)
install(DIRECTORY ${packaging}/examples ${packaging}/grafana DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN weir.yaml EXCLUDE)
install(DIRECTORY ${packaging}/migration DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
