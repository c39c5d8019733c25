package sandbox

// toolFolders are what is shown of a home directory, read-only: programs, and modules
// that builds read. Each is named as narrowly as its tool allows, for next to many of
// them lie tokens: ~/.cargo/credentials.toml, ~/.gem/credentials, ~/.m2/settings.xml,
// ~/.gradle/gradle.properties, ~/.npmrc. Caches that may hold answers of private
// registries are left out.
var toolFolders = []string{
	"bin", ".local/bin", ".local/lib", ".local/pipx/venvs", ".local/share/pipx/venvs",
	"go/bin", "go/pkg/mod", "sdk",
	".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/env", ".rustup/toolchains", ".rustup/settings.toml",
	".nvm/versions", ".nvm/alias", ".nvm/nvm.sh", ".nvm/nvm-exec", ".nvm/bash_completion",
	".volta/bin", ".volta/tools", ".fnm/node-versions", ".fnm/aliases",
	".local/share/fnm/node-versions", ".local/share/fnm/aliases",
	".npm-global/bin", ".npm-global/lib", ".npm-packages/bin", ".npm-packages/lib", ".node_modules",
	".local/share/pnpm", ".pnpm-store", ".yarn/bin", ".yarn/berry/cache", ".bun/bin", ".bun/install/global", ".deno/bin",
	".pyenv/bin", ".pyenv/libexec", ".pyenv/shims", ".pyenv/versions", ".pyenv/version", ".pyenv/plugins", ".pyenv/pyenv.d", ".pyenv/completions",
	".local/share/uv/python", ".local/share/uv/tools", ".poetry/bin", ".local/share/pypoetry/venv",
	"miniconda3", "anaconda3", "miniforge3", "mambaforge",
	".rbenv/bin", ".rbenv/libexec", ".rbenv/shims", ".rbenv/versions", ".rbenv/version", ".rbenv/plugins", ".rvm/rubies", ".rvm/gems", ".rvm/bin", ".rvm/scripts", ".gem/ruby",
	".asdf/bin", ".asdf/lib", ".asdf/shims", ".asdf/installs", ".asdf/plugins", ".asdf/asdf.sh", ".local/share/mise/installs", ".local/share/mise/shims",
	".sdkman/candidates", ".sdkman/bin", ".m2/repository", ".m2/wrapper", ".gradle/wrapper", ".jdks",
	".dotnet/sdk", ".dotnet/shared", ".dotnet/host", ".dotnet/dotnet", ".dotnet/tools", ".nuget/packages",
	".ghcup/bin", ".ghcup/ghc", ".stack/programs", ".opam/default", ".elan/bin", ".elan/toolchains",
	".juliaup/bin", ".julia/juliaup", ".julia/packages", ".julia/artifacts", ".foundry/bin", ".zig", ".composer/vendor",
}

// machineSecrets are files of the machine that only root can read: a child of root is
// still root to the file system, though without its capabilities.
var machineSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/krb5.keytab", "/etc/wireguard", "/etc/ipsec.secrets",
	"/etc/NetworkManager/system-connections", "/etc/docker/key.json", "/etc/kubernetes", "/etc/rancher", "/etc/ppp",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_dsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/private", "/var/lib/sss", "/var/lib/systemd/credential.secret",
	"/var/spool/cron", "/var/spool/at", "/var/mail", "/var/spool/mail", "/var/backups", "/var/cache/debconf/passwords.dat", "/swapfile",
}
