package service

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// credentials are the options for the files that say who we are to the broker and whom we trust. All files are read here, so that
// what is wrong with one is told by its variable; the connection reads them again whenever it is restored.
func (c *Config) credentials() (options []nats.Option, err error) {
	if c.NATSCreds != "" {
		if _, err := readVariable("NATS_CREDS", c.NATSCreds, checkCreds); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(c.NATSCreds))
	}
	if c.NATSCA != "" {
		if _, err := readVariable("NATS_TLS_CA", c.NATSCA, checkCA); err != nil {
			return nil, err
		}
		options = append(options, nats.RootCAs(c.NATSCA))
	}
	if c.NATSCert != "" {
		key, err := readVariable("NATS_TLS_KEY", c.NATSKey, nil)
		if err != nil {
			return nil, err
		}
		pair := func(cert []byte) error {
			_, err := tls.X509KeyPair(cert, key)
			return err
		}
		if _, err := readVariable("NATS_TLS_CERT", c.NATSCert, pair); err != nil {
			return nil, err
		}
		options = append(options, nats.ClientCert(c.NATSCert, c.NATSKey))
	}
	return options, nil
}

// readVariable reads the file that a variable names, and checks what is in it unless check is nil.
func readVariable(env, path string, check func([]byte) error) ([]byte, error) {
	data, err := os.ReadFile(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // without the path, which is told anyway
	}
	if err == nil && check != nil {
		err = check(data)
	}
	if err != nil {
		k := keyNamed(env)
		return nil, &VariableError{Name: k.Name, Found: path, Expected: k.Form, Err: err}
	}
	return data, nil
}

// checkCreds says nothing of what it found: it may be a secret, if in the wrong place.
func checkCreds(data []byte) error {
	token, err := nkeys.ParseDecoratedJWT(data)
	if err == nil {
		_, err = jwt.DecodeUserClaims(token)
	}
	if err != nil {
		return errors.New("no user's JWT in it")
	}
	if _, err := nkeys.ParseDecoratedUserNKey(data); err != nil {
		return errors.New("no user's seed in it")
	}
	return nil
}

func checkCA(data []byte) error {
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return errors.New("no certificate in it")
	}
	return nil
}
