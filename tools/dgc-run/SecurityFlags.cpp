// The flags that say whom to trust.
#include "tools/dgc-run/FlagGroups.h"

using namespace dgc;
using namespace dgc::rt;

void dgc::tool::addSecurityFlags(CLI::App &app, Flags &flags) {
  const std::string group = "Security";
  app.add_option("--require-signature", flags.signers,
                 "Run the plan only if it was signed (dgc-compile --sign) by the owner of this public key of Ed25519; "
                 "repeatable: by one of them")
      ->type_name("PUBLIC.pem")
      ->allow_extra_args(false)
      ->group(group);
  TlsFiles &tls = flags.credentials.tls;
  app.add_option("--tls-cert", tls.certificate, "Certificate of this worker, by which the others know it")
      ->type_name("FILE.pem")
      ->group(group);
  app.add_option("--tls-key", tls.key, "Its private key")->type_name("FILE.pem")->group(group);
  app.add_option("--tls-ca", tls.authority, "Certificate of the authority that has signed those of all workers")
      ->type_name("FILE.pem")
      ->group(group);
  app.add_option("--job-secret", flags.credentials.secret,
                 "File with a secret that all workers of the job have, in place of certificates (or: "
                 "$DGC_JOB_SECRET); a job that dgc-run starts itself makes one")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--insecure", flags.insecure,
               "Accept addresses other than loopback without certificates and secret: every process that reaches the "
               "coordinator may join, and read and change what workers say. Only in a network that you trust")
      ->group(group);
  app.add_option("--data-encryption", flags.dataEncryption,
                 "Encrypt tensors on their way between workers: auto, between machines where there are certificates or "
                 "a secret; on; off. The same for all workers")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(group);
  app.add_option("--sandbox", flags.sandbox,
                 "Keep the code of the plan from starting programs and from writing outside of the folders of the "
                 "outputs: auto, with what this kernel has; on, or end with code 7; off")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group(group);
}
